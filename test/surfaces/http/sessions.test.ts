import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { holdPlanLock, untilWaiting } from '../../chaos/support/locks.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { caller, connectHttp, fields, startHttp, tokenFor, toolNames } from '../mcp/clients.ts';
import { initialize, openSession, openStream, ping, post, send, session, toolCall } from './raw.ts';

const db = useDatabase();
async function start(options: Parameters<typeof startHttp>[1] = {}) {
  const cast = await makeCast(db);
  const { id, token } = await tokenFor(db, cast.agent);
  return { cast, tokenId: id, token, ...(await startHttp(db, options)) };
}

function collectGarbage(): void {
  setFlagsFromString('--expose_gc');
  runInNewContext('gc')();
}

test('a revoked token stops at the next request of its session, with a challenge', async () => {
  const { url, token, tokenId, cast } = await start();
  const call = caller(await connectHttp(url, token));
  await call('create', { content: 'kept' });
  const id = await openSession(url, token);
  await createLedger(db.admin).tokenRevoke({ token_id: tokenId });
  const answer = await post(
    url,
    token,
    toolCall(2, toolNames.update ?? '', { content: 'x', mode: 'append' }),
    session(id),
  );
  expect(answer.status).toBe(401);
  expect(answer.headers['www-authenticate']).toBe('Bearer');
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'unauthenticated', write_applied: false });
  await expect(call('update', { content: 'x', mode: 'append' })).rejects.toThrow();
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('kept');
});

test('an expired token stops too', async () => {
  const { url, cast } = await start();
  const { token } = await tokenFor(db, cast.agent, '300 milliseconds');
  const id = await openSession(url, token);
  await sleep(400);
  expect((await post(url, token, ping, session(id))).status).toBe(401);
});

test.each([undefined, 'Bearer', 'Bearer wrong', 'Basic eDp5', 'Bearer a b'])(
  'authorization %j is refused before anything is read',
  async (authorization) => {
    const { url } = await start();
    const answer = await send(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) },
      body: 'not even JSON',
    });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'unauthenticated' });
  },
);

test('a session belongs to the token that opened it: with another it is as unknown as one that never was', async () => {
  const { url, token, cast } = await start();
  const id = await openSession(url, token);
  const second = await tokenFor(db, cast.agent); // the same principal even
  const foreign = await post(url, second.token, ping, session(id));
  const unknown = await post(url, second.token, ping, session('00000000-0000-4000-8000-000000000000'));
  expect([foreign.status, unknown.status]).toEqual([404, 404]);
  expect(foreign.text).toBe(unknown.text);
  expect((await openStream(url, second.token, id)).status).toBe(404);
  const deletion = await send(url, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${second.token}`, ...session(id) },
  });
  expect(deletion.status).toBe(404);
  expect((await post(url, token, ping, session(id))).status).toBe(200);
});

test('without a session, only initialize is taken', async () => {
  const { url, token } = await start();
  expect((await post(url, token, ping)).status).toBe(400);
  expect((await post(url, token, { ...initialize, params: {} })).status).toBe(400);
  expect((await post(url, token, [])).status).toBe(400);
});

test('a session has one stream, and a client that dropped it can open it again', async () => {
  const { url, token } = await start();
  const id = await openSession(url, token);
  const abort = new AbortController();
  const first = await openStream(url, token, id, abort.signal);
  expect(first.status).toBe(200);
  expect((await openStream(url, token, id)).status).toBe(409);
  abort.abort();
  await expect(first.ended).rejects.toThrow();
  await expect.poll(async () => (await openStream(url, token, id)).status).toBe(200);
});

test('many sessions cost no connection to the database', async () => {
  const { url, token } = await start();
  const count = async () => {
    const [row] = await db.admin`select count(*)::int as n from pg_stat_activity where datname = current_database()`;
    return row?.n;
  };
  for (let n = 0; n < 8; n++) await openSession(url, token);
  const before = await count();
  const ids = await Promise.all(Array.from({ length: 40 }, () => openSession(url, token)));
  await Promise.all(ids.map((id) => openStream(url, token, id)));
  expect(await count()).toBeLessThanOrEqual(Math.max(before, 8 + 4 + 1));
});

test('clients with the same JSON-RPC ids at the same time get their own answers', async () => {
  const { url } = await start();
  const clients = await Promise.all(
    Array.from({ length: 4 }, async (_, n) => {
      const cast = await makeCast(db);
      await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: `plan ${n}` });
      const { token } = await tokenFor(db, cast.agent);
      return { token, id: await openSession(url, token), text: `plan ${n}` };
    }),
  );
  const rounds = Array.from({ length: 15 }, (_, round) =>
    clients.map(async ({ token, id, text }) => {
      const answer = JSON.parse((await post(url, token, toolCall(round, toolNames.get ?? '', {}), session(id))).text);
      expect(answer.id).toBe(round);
      expect(answer.result.content[1].text).toBe(text);
    }),
  );
  await Promise.all(rounds.flat());
});

test('an id that is not answered yet is refused in its session, at once and in a batch, and nothing is written', async () => {
  const { url, token, cast } = await start();
  const id = await openSession(url, token);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const append = (n: number, content: string) => toolCall(n, toolNames.update ?? '', { content, mode: 'append' });
  let answer: Promise<{ status: number; text: string }> | undefined;
  await db.admin.begin(async (sql) => {
    await sql`select planledger.lock_take('plan', 'test', ${cast.task})`;
    answer = post(url, token, append(5, 'b'), session(id));
    await expect.poll(() => db.admin`select from planledger.locks where state = 'waits'`).toHaveLength(1);
    expect((await post(url, token, append(5, 'c'), session(id))).status).toBe(400);
    expect((await post(url, token, [append(6, 'd'), append(6, 'e')], session(id))).status).toBe(400);
  });
  expect(JSON.parse((await answer)?.text ?? '')).toMatchObject({
    id: 5,
    result: { structuredContent: { outcome: 'appended' } },
  });
  expect((await post(url, token, append(5, 'f'), session(id))).status).toBe(200);
  const plan = await db.ledger.planGet({ principal: cast.agent, task_id: cast.task });
  expect(plan?.content).toBe('a\n\nb\n\nf');
});

test('a cancelled call is answered at once, its id and its session are free again', async () => {
  const { url, token, cast } = await start({ maxSessions: 1, sessionIdleMs: 300 });
  const id = await openSession(url, token);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const release = await holdPlanLock(db.admin, cast.task);
  const append = (content: string) => toolCall(7, toolNames.update ?? '', { content, mode: 'append' });
  const call = post(url, token, append('cancelled'), session(id));
  await untilWaiting(db.admin, 'test app', 1);
  const cancellation = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  expect((await post(url, token, { ...cancellation, params: { requestId: 8 } }, session(id))).status).toBe(202);
  await untilWaiting(db.admin, 'test app', 1); // that was another's
  expect((await post(url, token, cancellation, session(id))).status).toBe(202);
  expect(JSON.parse((await call).text).result.structuredContent).toMatchObject({
    code: 'database_unavailable',
    write_applied: false,
  });
  await release();
  const again = JSON.parse((await post(url, token, append('b'), session(id))).text);
  expect(again.result.structuredContent).toMatchObject({ outcome: 'appended' });
  await expect.poll(async () => (await post(url, token, initialize)).status).toBe(200);
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('a\n\nb');
});

test('of a batch, the call that is cancelled is refused and the others are answered', async () => {
  const { url, token, cast } = await start();
  const older = { ...initialize, params: { ...initialize.params, protocolVersion: '2025-03-26' } };
  const id = String((await post(url, token, older)).headers['mcp-session-id']);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const release = await holdPlanLock(db.admin, cast.task);
  const append = (n: number, content: string) => toolCall(n, toolNames.update ?? '', { content, mode: 'append' });
  const batch = post(url, token, [append(1, 'cancelled'), append(2, 'b')], session(id));
  await untilWaiting(db.admin, 'test app', 2);
  await post(
    url,
    token,
    [
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
      { ...ping, id: 3 },
    ],
    session(id),
  );
  await untilWaiting(db.admin, 'test app', 1);
  await release();
  const answers = JSON.parse((await batch).text) as { id: number; result: { structuredContent: object } }[];
  expect(answers.find((one) => one.id === 1)?.result.structuredContent).toMatchObject({ code: 'database_unavailable' });
  expect(answers.find((one) => one.id === 2)?.result.structuredContent).toMatchObject({ outcome: 'appended' });
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('a\n\nb');
});

test('a call is never given the answer of one whose client hung up, though it has the same id', async () => {
  const { url, token, cast } = await start();
  const id = await openSession(url, token);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  for (let round = 0; round < 40; round += 1) {
    const hangUp = new AbortController();
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' };
    const body = JSON.stringify(toolCall(7, toolNames.update ?? '', { content: 'b', mode: 'append' }));
    const first = fetch(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', ...session(id) },
      body,
      signal: hangUp.signal,
    }).catch(() => null);
    await sleep(round % 8);
    hangUp.abort();
    await first;
    const second = await post(url, token, toolCall(7, toolNames.get ?? '', {}), session(id));
    if (second.status === 400) expect(second.text).toContain('not answered yet');
    else expect(JSON.parse(JSON.parse(second.text).result.content[0].text)).toMatchObject({ has_plan: true });
  }
});

test('a member named __proto__ is refused: an argument of that name could not be', async () => {
  const { url, token, cast } = await start();
  const id = await openSession(url, token);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const message = JSON.stringify(toolCall(2, toolNames.update ?? '', { content: 'b', mode: 'append' }));
  const hidden = message.replace('"content":"b"', '"content":"b","__proto__":{"expected_version":"x"}');
  const answer = await post(url, token, hidden, session(id));
  expect(answer.status).toBe(400);
  expect(JSON.parse(answer.text)).toMatchObject({ id: 2, error: { message: expect.stringContaining('__proto__') } });
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('a');
});

test('the protocol of 2026 needs no session and holds none', async () => {
  const { url, token } = await start({ maxSessions: 1 });
  const held = await openSession(url, token);
  const modern = await connectHttp(url, token, 'modern');
  expect(modern.transport).toBeInstanceOf(StreamableHTTPClientTransport);
  expect((modern.transport as StreamableHTTPClientTransport).sessionId).toBeUndefined();
  expect(fields(await caller(modern)('create', { content: 'x' }))).toMatchObject({ outcome: 'created' });
  expect((await post(url, token, ping, session(held))).status).toBe(200);
});

test('a subscription of the protocol of 2026 lasts as long as an idle session, and only so many are held', async () => {
  const { url, token } = await start({ sessionIdleMs: 400, maxSessions: 1 });
  const modern = await connectHttp(url, token, 'modern');
  const began = performance.now();
  const subscription = await modern.listen({ toolsListChanged: true });
  collectGarbage(); // what ends it must not be garbage
  await expect(modern.listen({ toolsListChanged: true })).rejects.toThrow(/limit/);
  expect(await subscription.closed).toBe('remote');
  expect(performance.now() - began).toBeGreaterThan(350);
  const again = await modern.listen({ toolsListChanged: true });
  await again.close();
});
