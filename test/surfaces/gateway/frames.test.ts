import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { holdPlanLock, untilWaiting } from '../../chaos/support/locks.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { startHttp, tokenFor } from '../mcp/clients.ts';
import { openSocket } from './socket.ts';

const db = useDatabase();

async function start() {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.user, task_id: cast.task, content: 'kept' });
  const { token } = await tokenFor(db, cast.user);
  const http = await startHttp(db);
  const wsUrl = http.url.replace('http:', 'ws:').replace('/mcp', '/ws');
  return { ...http, cast, token, wsUrl };
}

const get = (id: unknown, task_id: string) => ({ id, type: 'request', action: 'task.plan.get', payload: { task_id } });

/** How an upgrade is refused. */
async function refusedUpgrade(url: string, protocols: string[], options: object) {
  const socket = new WebSocket(url, protocols, options);
  socket.on('error', () => {});
  const [, answer] = await once(socket, 'unexpected-response');
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk);
  return { status: answer.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) };
}

test('who may open a connection: a token in the header or as a subprotocol, a known host and origin, the right path', async () => {
  const { wsUrl, token, cast } = await start();
  const socket = new WebSocket(wsUrl, ['planledger.v1', `bearer.${token}`], { origin: 'http://localhost:3000' });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  expect(socket.protocol).toBe('planledger.v1');
  socket.send(JSON.stringify(get(1, cast.task)));
  const [data] = await once(socket, 'message');
  expect(JSON.parse(data.toString())).toMatchObject({ id: 1, type: 'response', payload: { content: 'kept' } });

  const headers = { authorization: `Bearer ${token}` };
  const refusals: [string, string[], object, number, string][] = [
    [wsUrl, [], {}, 401, 'unauthenticated'],
    [wsUrl, [], { headers: { authorization: 'Bearer wrong' } }, 401, 'unauthenticated'],
    [wsUrl, [], { headers, origin: 'https://evil.example' }, 403, 'validation_error'],
    [wsUrl, [], { headers: { ...headers, host: 'evil.example' } }, 403, 'validation_error'],
    [wsUrl.replace('/ws', '/other'), [], { headers }, 404, 'validation_error'],
  ];
  for (const [url, protocols, options, status, code] of refusals) {
    expect(await refusedUpgrade(url, protocols, options)).toMatchObject({
      status,
      body: { code, write_applied: false },
    });
  }
});

test('a page, which cannot see why an upgrade is refused, is told of a wrong token by the close code', async () => {
  const { wsUrl } = await start();
  for (const protocols of [['planledger.v1'], ['planledger.v1', 'bearer.'], ['planledger.v1', 'bearer.plt_wrong']]) {
    const socket = new WebSocket(wsUrl, protocols);
    const frames: unknown[] = [];
    socket.on('message', (frame) => frames.push(frame));
    socket.on('open', () => socket.send(JSON.stringify(get(1, 'x'))));
    const [code] = await once(socket, 'close');
    expect([code, frames]).toEqual([4401, []]);
  }
});

test('a refused upgrade ends its connection, though the client keeps its own side open', async () => {
  const { app, wsUrl } = await start();
  const { hostname, port } = new URL(wsUrl);
  const upgrade = [
    'GET /ws HTTP/1.1',
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    'Authorization: Bearer wrong',
  ];
  const sockets = Array.from({ length: 20 }, () => {
    const socket = createConnection({ port: Number(port), host: hostname, allowHalfOpen: true });
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(`${upgrade.join('\r\n')}\r\n\r\n`);
    return socket;
  });
  for (const socket of sockets) expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 401 /);
  const connections = () => new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));
  await expect.poll(connections).toBe(0);
});

test('an unsubscription and a subscription that follow each other at once are done in that order', async () => {
  const { url, token, cast } = await start();
  const connection = await openSocket(url, token);
  const [noise, on] = [{ action: 'task.list', payload: {} }, { task_id: cast.task }];
  for (let round = 1; round <= 40; round += 1) {
    const actions = ['task.subscribe', 'task.unsubscribe', 'task.subscribe'];
    for (let n = 0; n < 6; n += 1) connection.socket.send(JSON.stringify({ id: `n${n}`, type: 'request', ...noise }));
    await Promise.all(actions.map((action) => connection.request(action, on)));
    await db.ledger.planAppend({ principal: cast.user, task_id: cast.task, fragment: `${round}` });
    const { payload } = await connection.notification('task.plan.updated', round);
    expect(payload.content).toMatch(new RegExp(`\\n${round}$`));
  }
});

test('what is no request gets an error, with its id where it has one, and the connection goes on', async () => {
  const { url, token, cast } = await start();
  const connection = await openSocket(url, token);
  const bad: [string | Buffer, string | number | null][] = [
    ['', null],
    ['null', null],
    ['7', null],
    ['[]', null],
    ['{}', null],
    ['{"id":', null],
    [JSON.stringify({ ...get(null, cast.task) }), null],
    [JSON.stringify({ ...get('x1', cast.task), type: 'response' }), 'x1'],
    [JSON.stringify({ ...get('x2', cast.task), payload: [] }), 'x2'],
    [JSON.stringify({ ...get('x3', cast.task), action: 7 }), 'x3'],
    [JSON.stringify(get('x4', cast.task)).replace('"task_id"', '"__proto__":{},"task_id"'), 'x4'],
    ['['.repeat(200_000), null],
    [`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`, null],
    [Buffer.from(JSON.stringify(get('binary', cast.task))), null],
  ];
  for (const [frame] of bad) connection.socket.send(frame);
  await expect.poll(() => connection.frames.length).toBe(bad.length);
  const expected = bad.map(([, id]) => String(id)).sort();
  expect(connection.frames.map(({ id }) => String(id)).sort()).toEqual(expected);
  for (const { type, payload } of connection.frames) expect([type, payload.code]).toEqual(['error', 'BAD_REQUEST']);
  expect((await connection.request('task.plan.get', { task_id: cast.task })).payload.content).toBe('kept');
});

test('frames that break the protocol end their own connection with its code and nobody else', async () => {
  const { url, wsUrl, token, cast } = await start();
  const other = await openSocket(url, token);
  const broken: [(socket: WebSocket) => void, number][] = [
    [(socket) => socket.send('x'.repeat(9_000_000)), 1009],
    [(socket) => socket.send(Buffer.from([0xff, 0xfe]), { binary: false }), 1007],
  ];
  for (const [send, code] of broken) {
    const socket = new WebSocket(wsUrl, { headers: { authorization: `Bearer ${token}` } });
    socket.on('error', () => {});
    await once(socket, 'open');
    const closed = once(socket, 'close');
    send(socket);
    expect((await closed)[0]).toBe(code);
  }
  const { hostname, port } = new URL(url);
  for (const bytes of [
    'GARBAGE\r\n\r\n',
    'GET /ws HTTP/1.1\r\n\r\n',
    'GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  ]) {
    const raw = createConnection(Number(port), hostname);
    raw.on('error', () => {});
    raw.resume();
    raw.write(bytes);
    await once(raw, 'close');
  }
  expect((await other.request('task.plan.get', { task_id: cast.task })).payload.content).toBe('kept');
});

test('100,000 random frames each get one answer, change nothing and kill nothing', async () => {
  const { url, token, cast } = await start();
  const connection = await openSocket(url, token);
  const action = fc.constantFrom('task.plan.get', 'task.subscribe', 'task.plan.comments.create', 'x');
  const request = fc.record(
    { id: fc.jsonValue(), type: fc.constantFrom('request', 'x'), action, payload: fc.jsonValue() },
    { requiredKeys: [] },
  );
  const anything = fc.oneof(
    fc.string(),
    fc.json(),
    request.map((value) => JSON.stringify(value)),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  // Requests in form, of the task itself, with what does not belong there: these reach the ledger.
  const odd = fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), fc.uuid(), fc.integer());
  const field = fc.constantFrom('plan_id', 'id', 'body', 'selected_text', 'anchor_from', 'revision_id', 'title', 'odd');
  const near = fc
    .tuple(
      fc.constantFrom(
        'plan.update',
        'plan.revert',
        'plan.revision.get',
        'plan.comments.create',
        'plan.comments.delete',
      ),
      fc.dictionary(field, odd),
      fc.uuid(),
    )
    .map(([name, given, expected_version]) => ({
      ...{ id: 'near', type: 'request', action: `task.${name}` },
      payload: { ...given, task_id: cast.task, expected_version, content: 'changed' },
    }))
    .map((value) => JSON.stringify(value));
  const frames = [...fc.sample(anything, 95_000), ...fc.sample(near, 5_000)];
  for (const one of frames) connection.socket.send(one);
  await expect.poll(() => connection.frames.length, { timeout: 100_000 }).toBe(frames.length);
  expect(connection.frames.filter(({ type }) => type !== 'error')).toEqual([]);
  const codes = new Set(connection.frames.map(({ payload }) => payload.code));
  expect(codes).toContain('plan_version_conflict');
  expect(codes).not.toContain('INTERNAL_ERROR');
  // Over a connection of its own: a random frame may have had the id of any request.
  const other = await openSocket(url, token);
  expect((await other.request('task.plan.get', { task_id: cast.task })).payload.content).toBe('kept');
  expect(connection.socket.readyState).toBe(WebSocket.OPEN);
  expect(await db.ledger.revisionList({ principal: cast.user, task_id: cast.task })).toHaveLength(1);
  expect(await db.ledger.commentList({ principal: cast.user, task_id: cast.task })).toMatchObject({ revision: 0 });
}, 120_000);

test('requests are answered in any order: a read does not wait behind a write that waits', async () => {
  const { url, token, cast } = await start();
  const connection = await openSocket(url, token);
  const release = await holdPlanLock(db.admin, cast.task);
  const write = connection.request('task.plan.update', { task_id: cast.task, content: 'later' });
  await untilWaiting(db.admin, 'test app', 1);
  expect((await connection.request('task.plan.get', { task_id: cast.task })).payload.content).toBe('kept');
  await release();
  expect((await write).payload.content).toBe('later');
});

test('a connection that closes while its write waits leaves nothing written', async () => {
  const { url, token, cast } = await start();
  const connection = await openSocket(url, token);
  const release = await holdPlanLock(db.admin, cast.task);
  connection.socket.send(
    JSON.stringify({
      ...get(1, cast.task),
      action: 'task.plan.update',
      payload: { task_id: cast.task, content: 'gone' },
    }),
  );
  await untilWaiting(db.admin, 'test app', 1);
  connection.socket.terminate();
  await untilWaiting(db.admin, 'test app', 0);
  await release();
  expect((await db.ledger.planGet({ principal: cast.user, task_id: cast.task }))?.content).toBe('kept');
});

test('a client that stops reading is cut off, and others are answered', async () => {
  const { url, token, cast } = await start();
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planReplace({ ...by, content: 'x'.repeat(250_000), policy: 'browser' });
  const stuck = await openSocket(url, token);
  await stuck.request('task.subscribe', { task_id: cast.task });
  const reader = await openSocket(url, token);
  stuck.socket.pause();
  for (let n = 0; n < 300; n += 1) {
    stuck.socket.send(JSON.stringify(get(`s${n}`, cast.task)));
    if (n % 20 === 0) expect((await reader.request('task.plan.get', { task_id: cast.task })).type).toBe('response');
  }
  await sleep(500);
  stuck.socket.resume();
  expect(await stuck.closed).toBe(1006);
  expect(stuck.frames.length).toBeLessThan(300);
  expect((await reader.request('task.plan.get', { task_id: cast.task })).type).toBe('response');
}, 60_000);

test('when the server stops, what is under way is answered and the client is told to connect again', async () => {
  const { app, url, token, cast } = await start();
  const connection = await openSocket(url, token);
  const release = await holdPlanLock(db.admin, cast.task);
  const write = connection.request('task.plan.update', { task_id: cast.task, content: 'in time' });
  await untilWaiting(db.admin, 'test app', 1);
  const closed = app.close();
  await sleep(100);
  await release();
  expect((await write).payload.content).toBe('in time');
  expect(await connection.closed).toBe(1012);
  await closed;
});
