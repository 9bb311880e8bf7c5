import { once } from 'node:events';
import { createConnection } from 'node:net';
import postgres from 'postgres';
import { expect, onTestFinished, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { holdPlanLock, untilWaiting } from '../../chaos/support/locks.ts';
import { emptyDatabase } from '../../support/database.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { caller, connectHttp, fields, startHttp, texts, tokenFor, toolNames } from '../mcp/clients.ts';
import { initialize, openSession, post, send, toolCall } from './raw.ts';

const db = useDatabase();

async function start(options: Parameters<typeof startHttp>[1] = {}) {
  const cast = await makeCast(db);
  const { token } = await tokenFor(db, cast.agent);
  return { cast, token, ...(await startHttp(db, options)) };
}

test.each(['evil.example', 'evil.example:8080', 'localhost.evil.example', '127.0.0.1.nip.io'])(
  'Host %s is refused',
  async (host) => {
    const { url, token } = await start();
    const answer = await post(url, token, initialize, { host });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ code: 'validation_error', argument: 'Host' });
  },
);

test.each(['localhost', 'localhost:1', '127.0.0.1:9999', '[::1]:80'])('Host %s is taken', async (host) => {
  const { url, token } = await start();
  expect((await post(url, token, initialize, { host })).status).toBe(200);
});

test.each(['https://evil.example', 'null', 'http://localhost.evil.example', 'file://'])(
  'Origin %s is refused',
  async (origin) => {
    const { url, token } = await start();
    const answer = await post(url, token, initialize, { origin });
    expect(answer.status).toBe(403);
    expect(JSON.parse(answer.text)).toMatchObject({ argument: 'Origin' });
  },
);

test('hosts and origins can be named instead', async () => {
  const { url, token } = await start({
    allowedHosts: ['plans.example.com'],
    allowedOrigins: ['https://plans.example.com'],
  });
  const status = async (headers: Record<string, string>) => (await post(url, token, initialize, headers)).status;
  expect(await status({ host: 'plans.example.com:8443' })).toBe(200);
  expect(await status({ host: 'plans.example.com', origin: 'https://plans.example.com' })).toBe(200);
  expect(await status({ host: 'plans.example.com', origin: 'http://plans.example.com' })).toBe(403);
  expect(await status({ host: 'localhost' })).toBe(403);
});

test('the largest legal texts pass however they are escaped: an edit with 3 MB of JSON', async () => {
  const { url, token, cast } = await start();
  const call = caller(await connectHttp(url, token));
  const { content_max_bytes } = await db.ledger.contentMaxBytes({});
  const old_text = '\u0001'.repeat(content_max_bytes);
  const new_text = '\u0002'.repeat(content_max_bytes);
  const { version } = fields(await call('create', { content: old_text }));
  const args = { expected_version: version, old_text, new_text };
  expect(JSON.stringify(args).length).toBeGreaterThan(3_000_000);
  expect(fields(await call('edit', args))).toMatchObject({ outcome: 'edited', content_bytes: content_max_bytes });
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe(new_text);
});

test.each([9, 40])('%d MB are refused clearly, and the session goes on', async (megabytes) => {
  const { url, token, cast } = await start();
  const id = await openSession(url, token);
  const session = { 'mcp-session-id': id };
  const call = toolCall(2, toolNames.create ?? '', { content: 'x'.repeat(megabytes * 1_000_000) });
  const answer = await post(url, token, call, session);
  expect(answer.status).toBe(413);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'plan_content_too_large', write_applied: false });
  expect(await db.ledger.planGet({ principal: cast.agent, task_id: cast.task })).toBeNull();
  const next = await post(url, token, toolCall(3, toolNames.create ?? '', { content: 'small' }), session);
  expect(JSON.parse(next.text).result.structuredContent).toMatchObject({ outcome: 'created' });
});

test('the official client is told of a request that is too large, and goes on', async () => {
  const { url, token } = await start();
  const call = caller(await connectHttp(url, token));
  await expect(call('create', { content: 'x'.repeat(10_000_000) })).rejects.toThrow(/plan_content_too_large/);
  expect(fields(await call('create', { content: 'small' }))).toMatchObject({ outcome: 'created' });
});

test('bytes that are not UTF-8, and what is not JSON, are refused and never altered', async () => {
  const { url, token, cast } = await start();
  const session = { 'mcp-session-id': await openSession(url, token) };
  const text = JSON.stringify(toolCall(2, toolNames.create ?? '', { content: 'a?b' }));
  const bytes = Buffer.from(text);
  bytes[bytes.indexOf('?')] = 0xff;
  for (const body of [bytes, '{"jsonrpc":', '']) {
    const answer = await post(url, token, body, session);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32700 } });
  }
  expect(await db.ledger.planGet({ principal: cast.agent, task_id: cast.task })).toBeNull();
});

test('another content type and another path are refused as JSON', async () => {
  const { url, token } = await start();
  const answer = await post(url, token, initialize, { 'content-type': 'text/plain' });
  expect(answer.status).toBe(415);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'validation_error' });
  const lost = await send(new URL('/other', url).href);
  expect(lost.status).toBe(404);
  expect(JSON.parse(lost.text)).toMatchObject({ code: 'validation_error' });
});

test.each([
  ['a malformed URL', 'GET /%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n', 400],
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['headers of more than 16 kB', `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`, 431],
])('%s is refused in the form of every error', async (_, bytes, status) => {
  const { url } = await start();
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    answer += chunk;
    socket.end();
  });
  socket.write(bytes);
  await once(socket, 'close');
  expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({
    code: 'validation_error',
    operation: 'request',
    write_applied: false,
  });
});

test('what is no message is refused and is no fault of the server', async () => {
  const { url, token, logged } = await start();
  for (const body of ['null', '1', '"x"', 'true']) {
    const answer = await post(url, token, body);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32600 } });
  }
  expect(logged.filter((line) => JSON.parse(line).level >= 50)).toEqual([]);
});

test.each([[0], [1], [2]])(
  'what is no request, behind one that is not answered, is not read as its answer: with %d before',
  async (earlier) => {
    const { url, token, cast } = await start();
    const session = await openSession(url, token);
    await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
    const body = JSON.stringify(toolCall(2, toolNames.update ?? '', { content: 'b', mode: 'append' }));
    const head = [
      'POST /mcp HTTP/1.1',
      'Host: 127.0.0.1',
      `Authorization: Bearer ${token}`,
      'Accept: application/json, text/event-stream',
      'Content-Type: application/json',
      `Mcp-Session-Id: ${session}`,
      `Content-Length: ${body.length}`,
    ];
    const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('error', () => {});
    const release = await holdPlanLock(db.admin, cast.task);
    const health = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
    socket.write(`${health.repeat(earlier)}${head.join('\r\n')}\r\n\r\n${body}`);
    await untilWaiting(db.admin, 'test app', 1);
    socket.write('GARBAGE\r\n\r\n');
    await once(socket, 'close');
    expect(answer.match(/HTTP\/1.1 \d+/g) ?? []).toEqual(Array(earlier).fill('HTTP/1.1 200'));
    await untilWaiting(db.admin, 'test app', 0); // its client is gone
    await release();
    expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('a');
  },
);

test('healthz says the process runs, readyz that the database is migrated', async () => {
  const { url } = await start();
  expect(await send(new URL('/healthz', url).href)).toMatchObject({ status: 200 });
  expect(await send(new URL('/readyz', url).href)).toMatchObject({ status: 200, text: '{"status":"ready"}' });
});

test('readyz says why not: not migrated, functions of another program, no database', async () => {
  const bare = await emptyDatabase(db.url);
  const sql = postgres(bare, { max: 1, onnotice: () => {} });
  onTestFinished(() => sql.end());
  const { url } = await start({ sql, ledger: createLedger(sql) });
  const unmigrated = await send(new URL('/readyz', url).href);
  expect(unmigrated.status).toBe(503);
  expect(JSON.parse(unmigrated.text).reason).toContain('planledger migrate');

  await db.admin`update planledger.installed set functions_sha256 = 'other'`;
  const { url: older } = await start();
  const different = await send(new URL('/readyz', older).href);
  expect(different.status).toBe(503);
  expect(JSON.parse(different.text).reason).toContain('functions');

  const gone = postgres('postgres://postgres@127.0.0.1:1/none', { max: 1, connect_timeout: 1 });
  onTestFinished(() => gone.end());
  const { url: alone, token } = await start({ sql: gone, ledger: createLedger(gone) });
  expect((await send(new URL('/healthz', alone).href)).status).toBe(200);
  const unreachable = await send(new URL('/readyz', alone).href);
  expect(unreachable.status).toBe(503);
  expect(JSON.parse(unreachable.text)).toEqual({ status: 'not ready', reason: 'The database cannot be reached.' });
  const call = await post(alone, token, initialize);
  expect(call.status).toBe(503);
  expect(call.headers['retry-after']).toBe('1');
  expect(JSON.parse(call.text)).toMatchObject({ code: 'database_unavailable', write_applied: false });
});

test('texts of get come exactly, once', async () => {
  const { url, token } = await start();
  const call = caller(await connectHttp(url, token));
  const content = '\n  # Title\r\n\ttab \u200b\ufeff end  \n\n';
  await call('create', { content });
  const result = await call('get');
  expect(texts(result)).toHaveLength(2);
  expect(texts(result)[1]).toBe(content);
  expect(JSON.stringify(result).split('# Title')).toHaveLength(2);
});

test('a method that /mcp does not have is told so, and is no fault of the database', async () => {
  const { url, token, logged } = await start();
  const headers = { authorization: `Bearer ${token}` };
  for (const method of ['HEAD', 'PUT', 'PATCH']) {
    expect((await send(url, { method, headers })).status).toBe(404);
  }
  expect(logged.join('')).not.toMatch(/connection_lost|internal_error/);
});
