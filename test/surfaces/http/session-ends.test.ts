import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { openPool } from '../../../src/postgres/connect.ts';
import { openFaultyNetwork } from '../../chaos/support/faulty-network.ts';
import { holdPlanLock, untilWaiting } from '../../chaos/support/locks.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { caller, connectHttp, startHttp, texts, tokenFor, toolNames } from '../mcp/clients.ts';
import { initialize, openSession, openStream, ping, post, send, session, toolCall } from './raw.ts';

const db = useDatabase();

async function start(options: Parameters<typeof startHttp>[1] = {}) {
  const cast = await makeCast(db);
  const { token } = await tokenFor(db, cast.agent);
  return { cast, token, ...(await startHttp(db, options)) };
}

test('DELETE ends a session and its stream', async () => {
  const { url, token } = await start();
  const id = await openSession(url, token);
  const stream = await openStream(url, token, id);
  expect(stream.status).toBe(200);
  const headers = { authorization: `Bearer ${token}`, ...session(id) };
  expect((await send(url, { method: 'DELETE', headers })).status).toBe(200);
  await stream.ended;
  expect((await post(url, token, ping, session(id))).status).toBe(404);
});

test('DELETE cancels a call that waits, and the call itself is answered', async () => {
  const { url, token, cast } = await start();
  const id = await openSession(url, token);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const release = await holdPlanLock(db.admin, cast.task);
  const append = toolCall(5, toolNames.update ?? '', { content: 'b', mode: 'append' });
  const call = post(url, token, append, session(id));
  await untilWaiting(db.admin, 'test app', 1);
  const headers = { authorization: `Bearer ${token}`, ...session(id) };
  expect((await send(url, { method: 'DELETE', headers })).status).toBe(200);
  const answer = await call;
  expect(answer.status).toBe(200);
  expect(JSON.parse(answer.text)).toMatchObject({
    id: 5,
    result: { isError: true, structuredContent: { code: 'database_unavailable', write_applied: false } },
  });
  await release();
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('a');
});

test('a DELETE of a protocol version that is none is refused and ends nothing', async () => {
  const { url, token } = await start();
  const id = await openSession(url, token);
  const headers = { authorization: `Bearer ${token}`, 'mcp-protocol-version': '1999-01-01', ...session(id) };
  expect((await send(url, { method: 'DELETE', headers })).status).toBe(400);
  expect((await post(url, token, ping, session(id))).status).toBe(200);
});

test('when the database falls silent, closing ends, and a call under way is not told that nothing was written', async () => {
  const network = await openFaultyNetwork(db.url);
  onTestFinished(() => network.close());
  const sql = openPool(network.url, { max: 4, applicationName: 'silent' });
  onTestFinished(() => sql.end({ timeout: 0 }));
  const { app, url, token, cast } = await start({ sql, ledger: createLedger(sql) });
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const id = await openSession(url, token);
  const release = await holdPlanLock(db.admin, cast.task);
  const call = post(url, token, toolCall(2, toolNames.update ?? '', { content: 'b', mode: 'append' }), session(id));
  await untilWaiting(db.admin, 'silent', 1);
  network.holdRequests();
  const started = performance.now();
  const told = call.then(
    ({ text }) => text,
    () => 'hung up',
  );
  await app.close();
  expect(performance.now() - started).toBeLessThan(9_500);
  expect(await told).toMatch(/^hung up$|"write_applied":"unknown"/);
  await release();
});

test('whenever DELETE comes, a call says what became of its write', async () => {
  const { url, token, cast } = await start();
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  const headers = { authorization: `Bearer ${token}` };
  const written: string[] = ['a'];
  for (let n = 0; n < 60; n++) {
    const id = await openSession(url, token);
    const call = post(
      url,
      token,
      toolCall(5, toolNames.update ?? '', { content: `b${n}`, mode: 'append' }),
      session(id),
    );
    await sleep(n / 2);
    await send(url, { method: 'DELETE', headers: { ...headers, ...session(id) } });
    if (/"outcome":"appended"/.test((await call).text)) written.push(`b${n}`);
    else expect((await call).text).toContain('"write_applied":false');
  }
  const plan = await db.ledger.planGet({ principal: cast.agent, task_id: cast.task });
  expect(plan?.content).toBe(written.join('\n\n'));
  expect(written.length).toBeGreaterThan(1);
});

test('an idle session is freed with its stream, one in use is not', async () => {
  const { url, token } = await start({ sessionIdleMs: 500 });
  const idle = await openSession(url, token);
  const used = await openSession(url, token);
  const stream = await openStream(url, token, idle);
  for (let n = 0; n < 8; n++) {
    await sleep(100);
    expect((await post(url, token, ping, session(used))).status).toBe(200);
  }
  await stream.ended;
  expect((await post(url, token, ping, session(idle))).status).toBe(404);
});

test('at the bound a new session takes the place of the one idle longest', async () => {
  const { url, token } = await start({ maxSessions: 2 });
  const [first, second] = [await openSession(url, token), await openSession(url, token)];
  await post(url, token, ping, session(first));
  const third = await openSession(url, token);
  const statuses = await Promise.all(
    [first, second, third].map(async (id) => (await post(url, token, ping, session(id))).status),
  );
  expect(statuses).toEqual([200, 404, 200]);
});

test('at the bound a session with a call under way keeps its place, and the newcomer is told when to come back', async () => {
  const { url, token, cast } = await start({ maxSessions: 1 });
  const id = await openSession(url, token);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  let answer: Promise<{ status: number; text: string }> | undefined;
  await db.admin.begin(async (sql) => {
    await sql`select planledger.lock_take('plan', 'test', ${cast.task})`;
    answer = post(url, token, toolCall(2, toolNames.update ?? '', { content: 'b', mode: 'append' }), session(id));
    await sleep(200);
    const refused = await post(url, token, initialize);
    expect(refused.status).toBe(503);
    expect(refused.headers['retry-after']).toBe('1');
  });
  expect(JSON.parse((await answer)?.text ?? '').result.structuredContent).toMatchObject({ outcome: 'appended' });
});

test('closing the server ends streams at once and lets a call under way finish', async () => {
  const { app, url, token, cast } = await start();
  const id = await openSession(url, token);
  const stream = await openStream(url, token, id);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  let answer: Promise<{ status: number; text: string }> | undefined;
  let closing: Promise<void> | undefined;
  await db.admin.begin(async (sql) => {
    await sql`select planledger.lock_take('plan', 'test', ${cast.task})`;
    answer = post(url, token, toolCall(2, toolNames.update ?? '', { content: 'b', mode: 'append' }), session(id));
    await sleep(200);
    closing = app.close();
    await sleep(100);
  });
  const started = performance.now();
  expect(JSON.parse((await answer)?.text ?? '').result.structuredContent).toMatchObject({ outcome: 'appended' });
  await stream.ended;
  await closing;
  expect(performance.now() - started).toBeLessThan(2_000);
});

test('a client whose session is gone begins a new one and goes on', async () => {
  const { url, token } = await start({ maxSessions: 1 });
  const call = caller(await connectHttp(url, token));
  await call('create', { content: 'kept' });
  await openSession(url, token);
  await expect(call('get')).rejects.toThrow(/initialize/);
  const again = caller(await connectHttp(url, token));
  expect(texts(await again('get'))[1]).toBe('kept');
});

test('a client that hangs up while it is authenticated leaves nothing that closing waits for', async () => {
  const { app, url, token } = await start();
  const id = await openSession(url, token);
  const lock = await db.admin.reserve();
  await lock`begin`;
  await lock`lock table planledger.access_tokens in access exclusive mode`;
  const head = ['DELETE /mcp HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`, `Mcp-Session-Id: ${id}`];
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  socket.write(`${head.join('\r\n')}\r\n\r\n`);
  await expect
    .poll(() => db.admin`select from pg_stat_activity where application_name = 'test app' and wait_event_type = 'Lock'`)
    .not.toHaveLength(0);
  socket.destroy();
  await once(socket, 'close');
  await sleep(50);
  await lock`commit`;
  lock.release();
  // Whether a request is still carried out whose client has gone is a matter of moments; either way it is over.
  await expect.poll(async () => [200, 404].includes((await post(url, token, ping, session(id))).status)).toBe(true);
  await sleep(200);
  const started = performance.now();
  await app.close();
  expect(performance.now() - started).toBeLessThan(3_000);
});
