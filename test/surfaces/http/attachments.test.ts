import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { untilWaiting } from '../../chaos/support/locks.ts';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { openSocket } from '../gateway/socket.ts';
import { startHttp, tokenFor } from '../mcp/clients.ts';
import { send } from './raw.ts';

const db = useDatabase();
const mebibyte = 1_048_576;
const absent = '00000000-0000-4000-8000-000000000000';
let cast: Cast;
let app: FastifyInstance;
let url: string;
let token: string;

beforeEach(async () => {
  cast = await makeCast(db);
  const server = await startHttp(db);
  app = server.app;
  url = new URL('/attachments', server.url).href;
  token = (await tokenFor(db, cast.user)).token;
});

/** The parts of a form, in this order. */
type Parts = [name: string, value: string | File][];

const file = (content: Uint8Array<ArrayBuffer> | string = 'a file', name = 'notes.txt', type = 'text/plain') =>
  new File([content], name, { type });
const usual = (content: File = file(), task_id = cast.task): Parts => [
  ['task_id', task_id],
  ['file', content],
];

/** A staged file, or a refusal. */
interface Described {
  id: string;
  name: string;
}

async function post(
  parts: Parts,
  bearer = token,
  more: Record<string, string> = {},
  signal: AbortSignal | null = null,
) {
  const body = new FormData();
  for (const [name, value] of parts) body.append(name, value);
  const headers = { authorization: `Bearer ${bearer}`, ...more };
  const answer = await fetch(url, { method: 'POST', body, headers, signal });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Described };
}

async function staged(content?: File): Promise<string> {
  const { status, body } = await post(usual(content));
  expect(status, JSON.stringify(body)).toBe(201);
  return body.id;
}

const get = (id: string, bearer = token, task_id = cast.task) =>
  fetch(`${url}/${encodeURIComponent(task_id)}/${id}`, { headers: { authorization: `Bearer ${bearer}` } });

/** How many files of the task are kept. */
async function kept(): Promise<number> {
  const [row] = await db.admin`select count(*)::int from planledger.attachments where task_id = ${cast.task}`;
  return row?.count;
}

/** A user of the same workspace. */
async function another(): Promise<string> {
  const { user } = cast;
  const [made] = await db.admin`
    select p.id from planledger.principals u,
      planledger.principal_create(p_workspace_id => u.workspace_id, p_kind => 'user', p_display_name => 'Bea') p
    where u.id = ${user}`;
  return (await tokenFor(db, made?.id)).token;
}

/** A session of the task that waits for a prompt, and a connection of the user. */
async function prompting(transport = 'acp') {
  const on = { task_id: cast.task, session_id: `s-${randomUUID()}` };
  await db.ledger.sessionCreate({ principal: cast.user, ...on, name: 's', transport });
  await db.ledger.sessionSetState({ principal: cast.user, ...on, state: 'WAITING_FOR_INPUT' });
  const socket = await openSocket(url, token);
  return { on, add: (message: object) => socket.request('message.add', { ...on, content: 'go', ...message }) };
}

/** A connection on which an upload of 10 MB has begun, and so much of its file has left. */
async function begun(bytes: number): Promise<Socket> {
  const { port } = new URL(url);
  const socket = createConnection(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  const disposition = 'content-disposition: form-data; name=';
  const form = `--x\r\n${disposition}"task_id"\r\n\r\n${cast.task}\r\n--x\r\n${disposition}"file"; filename="f"\r\n\r\n`;
  const head =
    `POST /attachments HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n` +
    'content-type: multipart/form-data; boundary=x\r\ncontent-length: 10000000\r\n\r\n';
  await new Promise((resolve) => socket.write(head + form + 'y'.repeat(bytes), resolve));
  return socket;
}

/** Holds the lock under which the task's prompts and files are accepted, until the function it answers is called. */
async function holdAdmission(): Promise<() => Promise<void>> {
  const holder = await db.admin.reserve();
  await holder`begin`;
  await holder`select pg_advisory_xact_lock(planledger.lock_key('admission', ${cast.task}))`;
  return async () => {
    await holder`commit`;
    holder.release();
  };
}

test.each(['task_id first', 'file first'])('a file is staged and read again, byte for byte: %s', async (order) => {
  const content = randomBytes(100_000);
  const parts = usual(file(content, 'Größe 🦜.bin', 'application/x-thing'));
  const { status, body } = await post(order === 'file first' ? parts.reverse() : parts);
  expect(status).toBe(201);
  const described = { name: 'Größe 🦜.bin', media_type: 'application/x-thing', bytes: 100_000 };
  expect(body).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), task_id: cast.task, ...described });
  const answer = await get(body.id);
  expect(answer.status).toBe(200);
  expect(Buffer.from(await answer.arrayBuffer()).equals(content)).toBe(true);
});

test('a browser saves what it is given, whatever its sender called it', async () => {
  const id = await staged(file('<script>alert(1)</script>', `a'b (1).html`, 'text/html'));
  expect(Object.fromEntries((await get(id)).headers)).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename*=UTF-8''a%27b%20%281%29.html`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, no-store',
  });
});

test('10 MiB are taken, and one byte more is refused and not kept', async () => {
  const most = randomBytes(10 * mebibyte);
  const id = await staged(file(most));
  expect(Buffer.from(await (await get(id)).arrayBuffer()).equals(most)).toBe(true);
  for (const bytes of [10 * mebibyte + 1, 40 * mebibyte]) {
    const { status, body } = await post(usual(file(new Uint8Array(bytes))));
    expect(status).toBe(413);
    expect(body).toMatchObject({
      ...{ code: 'validation_error', argument: 'file', limit_bytes: 10 * mebibyte, write_applied: false },
      next_action: expect.stringMatching(/smaller/),
    });
  }
  expect(await kept()).toBe(1);
});

test.each<[string, (task: string) => Parts]>([
  ['no file', (task) => [['task_id', task]]],
  ['no task', () => [['file', file()]]],
  ['nothing', () => []],
  ['two files', (task) => [...usual(file(), task), ['file', file()]]],
  [
    'two files and no task',
    () => [
      ['file', file()],
      ['file', file()],
    ],
  ],
  ['two tasks', (task) => [['task_id', task], ...usual(file(), task)]],
  ['another field', (task) => [...usual(file(), task), ['x', 'y']]],
  [
    'a field of another name',
    (task) => [
      ['task', task],
      ['file', file()],
    ],
  ],
  [
    'a file of another name',
    (task) => [
      ['task_id', task],
      ['other', file()],
    ],
  ],
  [
    'a large file of another name',
    (task) => [
      ['other', file('x'.repeat(3_000_000))],
      ['task_id', task],
    ],
  ],
  [
    'a file that is a field',
    (task) => [
      ['task_id', task],
      ['file', 'text'],
    ],
  ],
  [
    'a task that is a file',
    (task) => [
      ['task_id', file(task)],
      ['file', file()],
    ],
  ],
  ['a task of 2,000 bytes', () => usual(file(), 'x'.repeat(2_000))],
  ['a field named __proto__', (task) => [...usual(file(), task), ['__proto__', 'y']]],
])('a form with %s is refused', async (_, parts) => {
  const { status, body } = await post(parts(cast.task));
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: 'validation_error', argument: 'body', operation: 'request' });
  expect(await kept()).toBe(0);
});

test.each([
  ['an empty file', file(''), 'content'],
  ['a path', file('x', '../../etc/passwd'), 'name'],
  ['a path of Windows', file('x', 'C:\\boot.ini'), 'name'],
  ['two dots', file('x', '..'), 'name'],
  ['U+0000 in the name', file('x', 'a\0b'), 'name'],
  ['an escape character in the name', file('x', 'a\u001b[31m'), 'name'],
  ['201 characters', file('x', '🦜'.repeat(201)), 'name'],
  ['a media type that is none', file('x', 'a', 'text/html<script>'), 'media_type'],
])('%s is refused', async (_, content, argument) => {
  const { status, body } = await post(usual(content));
  expect(body).toMatchObject({ code: 'validation_error', argument });
  expect(status).toBe(400);
  expect(await kept()).toBe(0);
});

test.each(['🦜'.repeat(200), 'e\u0301 עברית \u202etxt.exe', '100% "quoted"; filename=x', ' '])(
  'the name %j is taken as it is',
  async (name) => {
    const { body } = await post(usual(file('x', name)));
    // A form writes these so; nobody can say whether the name had them.
    expect(body.name).toBe(name.replaceAll('"', '%22'));
    const disposition = (await get(body.id)).headers.get('content-disposition') ?? '';
    expect(decodeURIComponent(disposition.replace("attachment; filename*=UTF-8''", ''))).toBe(body.name);
  },
);

test.each([
  ['JSON', 'application/json', '{}', 415],
  ['a form without files', 'application/x-www-form-urlencoded', 'task_id=t', 415],
  ['no content type', '', 'x', 415],
  ['no boundary', 'multipart/form-data', 'x', 400],
  ['another boundary', 'multipart/form-data; boundary=x', '--y\r\n', 400],
  ['no end', 'multipart/form-data; boundary=x', '--x\r\ncontent-disposition: form-data; name="task_id"\r\n\r\nt', 400],
  ['nothing', 'multipart/form-data; boundary=x', '', 400],
])('a body of %s is refused', async (_, type, body, status) => {
  const headers = { authorization: `Bearer ${token}`, ...(type !== '' && { 'content-type': type }) };
  const answer = await send(url, { method: 'POST', headers, body });
  expect(answer.status, answer.text).toBe(status);
  expect(JSON.parse(answer.text)).toMatchObject({ code: 'validation_error', write_applied: false });
  expect(await kept()).toBe(0);
});

test('an upload needs a token that may write to the task, and a name and an origin of the server', async () => {
  const stranger = (await tokenFor(db, (await makeCast(db)).user)).token;
  const none = await fetch(url, { method: 'POST', body: new FormData() });
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  expect(await none.json()).toMatchObject({ code: 'unauthenticated' });
  expect(await post(usual(), 'plt_wrong')).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  expect(await post(usual(), stranger)).toMatchObject({ status: 403, body: { code: 'task_unreachable' } });
  expect(await post(usual(file(), 'absent'))).toMatchObject({ status: 403, body: { code: 'task_unreachable' } });
  const evil = { origin: 'https://evil.example' };
  expect(await post(usual(), token, evil)).toMatchObject({ status: 403, body: { argument: 'Origin' } });
  const other = await send(url, {
    method: 'POST',
    headers: { host: 'evil.example', authorization: `Bearer ${token}` },
  });
  expect(other.status).toBe(403);
  expect(await kept()).toBe(0);
});

test('a page of an origin that may call can upload from there, and no other page', async () => {
  const origin = 'http://localhost:3000';
  const preflight = { origin, 'access-control-request-method': 'POST' };
  const asked = await send(url, { method: 'OPTIONS', headers: preflight });
  expect(asked).toMatchObject({
    status: 204,
    headers: { 'access-control-allow-origin': origin, 'access-control-allow-headers': 'authorization' },
  });
  const { status, headers } = await post(usual(), token, { origin });
  expect([status, headers.get('access-control-allow-origin')]).toEqual([201, origin]);
  const evil = await send(url, { method: 'OPTIONS', headers: { ...preflight, origin: 'https://evil.example' } });
  expect(evil.status).toBe(403);
  expect(evil.headers).not.toHaveProperty('access-control-allow-origin');
});

test('a staged file is its sender’s alone until it is sent; then every reader of the task has it', async () => {
  const id = await staged();
  const bea = await another();
  const status = async (bearer: string) => (await get(id, bearer)).status;
  expect([await status(token), await status(bea)]).toEqual([200, 404]);
  const { add } = await prompting();
  expect(await add({ client_message_id: 'm', attachments: [id] })).toMatchObject({ type: 'response' });
  expect([await status(token), await status(bea)]).toEqual([200, 200]);
  expect(await status((await tokenFor(db, (await makeCast(db)).user)).token)).toBe(403);
  expect((await get(absent)).status).toBe(404);
  expect((await get('no-uuid')).status).toBe(400);
  const elsewhere = await db.ledger.taskCreate({ principal: cast.user, title: 'other', task_id: '/ 🦜'.repeat(50) });
  expect((await get(id, token, elsewhere.id)).status).toBe(404);
});

test('a message takes 25 MiB of files, each once, and only those that its sender staged on its task', async () => {
  const ten = new Uint8Array(10 * mebibyte);
  const [one, two] = [await staged(file(ten)), await staged(file(ten))];
  const half = await staged(file(new Uint8Array(5 * mebibyte)));
  const byte = await staged(file('x'));
  const other = await db.ledger.taskCreate({ principal: cast.user, title: 'other', task_id: null });
  const elsewhere = (await post(usual(file(), other.id))).body.id;
  const hers = (await post(usual(), await another())).body.id;
  const { on, add } = await prompting();
  const send = (attachments: string[], client_message_id = 'm') => add({ client_message_id, attachments });

  for (const attachments of [[elsewhere], [hers], [absent], [byte, byte], [byte, hers]]) {
    expect((await send(attachments)).payload).toMatchObject({ code: 'attachment_not_found' });
  }
  expect((await send([one, two, half, byte])).payload).toMatchObject({
    code: 'validation_error',
    message: expect.stringMatching(/26,214,400/),
  });
  expect(await db.ledger.messageList({ principal: cast.user, ...on })).toEqual([]);

  expect(await send([two, one, half])).toMatchObject({ type: 'response', payload: { replayed: false } });
  expect(await send([two, one, half])).toMatchObject({ type: 'response', payload: { replayed: true } });
  expect((await send([one, two, half])).payload).toMatchObject({ code: 'idempotency_conflict' });
  const [message] = await db.ledger.messageList({ principal: cast.user, ...on });
  expect(message?.attachments.map(({ id, bytes }) => [id, bytes])).toEqual([
    [two, 10 * mebibyte],
    [one, 10 * mebibyte],
    [half, 5 * mebibyte],
  ]);
  const later = await prompting();
  const again = await later.add({ client_message_id: 'n', attachments: [one] });
  expect(again.payload).toMatchObject({ code: 'attachment_not_found' });
});

test.each([
  ['is reset', (socket: Socket) => void socket.resetAndDestroy()],
  ['ends too early', (socket: Socket) => void socket.end()],
])('an upload whose connection %s leaves nothing', async (_, end) => {
  end(await begun(100));
  end(await begun(9_500_000)); // more than the system holds for a server that does not read
  await app.close();
  expect(await kept()).toBe(0);
});

test('an upload whose client goes while it waits for the lock leaves nothing', async () => {
  const release = await holdAdmission();
  const gone = new AbortController();
  const waiting = post(usual(), token, {}, gone.signal);
  await untilWaiting(db.admin, 'test app');
  gone.abort();
  await expect(waiting).rejects.toThrow(/abort/);
  await expect.poll(() => untilWaiting(db.admin, 'test app', 0)).toEqual([]);
  await release();
  expect(await kept()).toBe(0);
});

test('more uploads than one caller may have in hand are told to come again, and keep nobody else out', async () => {
  const slow = await Promise.all(Array.from({ length: 3 }, () => begun(100)));
  const [told] = await Promise.race(slow.map((socket) => once(socket, 'data')));
  expect(String(told)).toMatch(/^HTTP\/1.1 503 /);
  const { status, headers, body } = await post(usual());
  expect([status, headers.get('retry-after')]).toEqual([503, '1']);
  expect(body).toMatchObject({ code: 'validation_error', write_applied: false });
  const other = (await tokenFor(db, cast.service)).token;
  expect((await post(usual(), other)).status).toBe(201);
  for (const socket of slow) socket.destroy();
  await expect.poll(async () => (await post(usual())).status).toBe(201);
});
