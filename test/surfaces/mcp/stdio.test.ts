import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { caller, connectStdio, fields, stdioEntry, texts, tokenFor, toolNames } from './clients.ts';

const db = useDatabase();

interface Message {
  jsonrpc: string;
  id?: unknown;
  method?: string;
  error?: { code: number; message: string; data?: { code: string } };
  result?: { tools?: { name: string }[]; isError?: boolean; structuredContent?: Record<string, unknown> };
}

/** The process with every line of its stdout, each of which must be one JSON-RPC message. */
function start(databaseUrl: string, token: string) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [stdioEntry], {
    env: { ...process.env, DATABASE_URL: databaseUrl, PLANLEDGER_TOKEN: token },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const messages: Message[] = [];
  const closed = once(child, 'close');
  const heard = new EventTarget();
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    expect(message.jsonrpc).toBe('2.0');
    messages.push(message);
    heard.dispatchEvent(new Event('message'));
  });
  return {
    child,
    messages,
    write: (message: unknown) =>
      child.stdin.write(
        typeof message === 'string' || Buffer.isBuffer(message) ? message : `${JSON.stringify(message)}\n`,
      ),
    async answer(id: unknown): Promise<Message> {
      for (;;) {
        const found = messages.find((message) => message.id === id && message.method === undefined);
        if (found !== undefined) return found;
        await once(heard, 'message');
      }
    },
    /** Ends stdin and answers the exit code, once stdout is closed. */
    async end(): Promise<number> {
      child.stdin.end();
      const [code] = await closed;
      return code;
    },
    stderr: () => stderr,
  };
}

const initialize = {
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};
const call = (id: unknown, tool: string, args: Record<string, unknown>) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: toolNames[tool], arguments: args },
});

async function startFor(options: { url?: string } = {}) {
  const cast = await makeCast(db);
  const { token } = await tokenFor(db, cast.agent);
  return { cast, token, ...start(options.url ?? db.url, token) };
}

test('calls still under way when stdin ends are answered, then the process exits with 0', async () => {
  const { write, end, messages, cast } = await startFor();
  write(initialize);
  write(call(1, 'create', { content: 'one' }));
  write(call(2, 'get', {}));
  expect(await end()).toBe(0);
  expect(messages.map(({ id }) => id)).toEqual(expect.arrayContaining(['init', 1, 2]));
  expect(messages).toHaveLength(3);
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('one');
});

test('a last line without a line end is read too', async () => {
  const { write, end, messages } = await startFor();
  write(initialize);
  write(JSON.stringify(call(1, 'get', {})));
  expect(await end()).toBe(0);
  expect(messages.map(({ id }) => id)).toEqual(['init', 1]);
});

test('a line of 9 MB is refused with a JSON-RPC error and the process goes on', async () => {
  const { write, answer, end, messages, cast } = await startFor();
  write(initialize);
  write(call(1, 'create', { content: 'x'.repeat(9_000_000) }));
  write(`${'x'.repeat(70_000_000)}\n`);
  write(call(2, 'create', { content: 'small' }));
  expect((await answer(2)).result?.structuredContent).toMatchObject({ outcome: 'created', content_bytes: 5 });
  for (const id of [1, null]) {
    const refused = await answer(id);
    expect(refused.error?.code).toBe(-32600);
    expect(refused.error?.message).toContain('8388608');
  }
  expect(await end()).toBe(0);
  expect(messages).toHaveLength(4);
  const history = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task });
  expect(history).toHaveLength(1);
});

test('a call with a member named __proto__ is refused under its own id', async () => {
  const { write, answer, end } = await startFor();
  write(initialize);
  const message = JSON.stringify(call(1, 'create', { content: 'x' }));
  write(`${message.replace('"content"', '"__proto__":{},"content"')}\n`);
  expect((await answer(1)).error?.message).toContain('__proto__');
  expect(await end()).toBe(0);
});

test('an edit with 3 MB of JSON passes', async () => {
  const { write, answer } = await startFor();
  const { content_max_bytes } = await db.ledger.contentMaxBytes({});
  const old_text = '\u0001'.repeat(content_max_bytes);
  write(initialize);
  write(call(1, 'create', { content: old_text }));
  const { version } = (await answer(1)).result?.structuredContent ?? {};
  write(call(2, 'edit', { expected_version: version, old_text, new_text: '\u0002'.repeat(content_max_bytes) }));
  expect((await answer(2)).result?.structuredContent).toMatchObject({ outcome: 'edited' });
});

test('what cannot be read is answered, blank lines are not, and the process goes on', async () => {
  const { write, answer, messages, end, cast } = await startFor();
  write(initialize);
  await answer('init');
  write('\n  \r\n');
  write('not json\n');
  const bytes = Buffer.from(`${JSON.stringify(call(7, 'create', { content: 'a?b' }))}\n`);
  bytes[bytes.indexOf('?')] = 0xff;
  write(bytes);
  write({ id: 8, hello: true });
  expect((await answer(8)).error?.code).toBe(-32600);
  write(call(9, 'get', {}));
  await answer(9);
  expect(messages.filter(({ id }) => id === null).map(({ error }) => error?.code)).toEqual([-32700, -32700]);
  expect(await end()).toBe(0);
  expect(await db.ledger.planGet({ principal: cast.agent, task_id: cast.task })).toBeNull();
});

test('a message may come in pieces and several in one', async () => {
  const { child, answer, write } = await startFor();
  const messages = [initialize, call(1, 'create', { content: 'é\u{1F600}' })];
  const lines = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  for (let at = 0; at < lines.length; at += 7) {
    child.stdin.write(lines.subarray(at, at + 7));
    if (at % 70 === 0) await sleep(1);
  }
  await answer(1);
  const both = [call(2, 'get', {}), call(3, 'get', {})].map((message) => `${JSON.stringify(message)}\n`).join('');
  write(both);
  for (const id of [2, 3]) expect(JSON.stringify((await answer(id)).result)).toContain('é\u{1F600}');
});

test('with the database down it still speaks JSON-RPC, lists every tool, and calls are refused without harm', async () => {
  const { write, answer, end, stderr } = await startFor({ url: 'postgres://postgres@127.0.0.1:1/none' });
  write(initialize);
  write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  write({ jsonrpc: '2.0', id: 'list', method: 'tools/list' });
  expect((await answer('list')).result?.tools?.map(({ name }) => name)).toEqual(Object.values(toolNames));
  write(call(1, 'update', { content: 'x', mode: 'append' }));
  const { result } = await answer(1);
  expect(result?.isError).toBe(true);
  expect(result?.structuredContent).toMatchObject({ code: 'database_unavailable', write_applied: false });
  expect(JSON.stringify(result)).not.toContain('ECONNREFUSED');
  expect(stderr()).toContain('ECONNREFUSED');
  expect(await end()).toBe(0);
});

test('once the database is back, a client that saw every tool is told to look again', async () => {
  const cast = await makeCast(db);
  const reader = await createLedger(db.admin).principalCreate({
    workspace_id: cast.workspace,
    kind: 'service',
    scopes: ['plan:read'],
  });
  const { token } = await tokenFor(db, reader.id);
  const real = new URL(db.url);
  const proxy = createServer((socket) => {
    const upstream = createConnection(Number(real.port), real.hostname);
    socket.pipe(upstream).pipe(socket);
    for (const end of [socket, upstream]) end.on('error', () => socket.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  proxy.close();
  await once(proxy, 'close');

  const through = new URL(db.url);
  through.hostname = '127.0.0.1';
  through.port = String(port);
  const { write, answer, messages, end } = start(through.href, token);
  write(initialize);
  write({ jsonrpc: '2.0', method: 'notifications/initialized' });
  write({ jsonrpc: '2.0', id: 'blind', method: 'tools/list' });
  expect((await answer('blind')).result?.tools).toHaveLength(8);

  proxy.listen(port, '127.0.0.1');
  await once(proxy, 'listening');
  write(call(1, 'get', { task_id: cast.task }));
  expect((await answer(1)).result?.isError).toBeFalsy();
  expect(messages.filter(({ method }) => method === 'notifications/tools/list_changed')).toHaveLength(1);
  write({ jsonrpc: '2.0', id: 'seeing', method: 'tools/list' });
  expect((await answer('seeing')).result?.tools).toHaveLength(3);
  expect(await end()).toBe(0);
  proxy.close();
});

test('the process ends when its output is gone', async () => {
  const { child, write, answer } = await startFor();
  write(initialize);
  await answer('init');
  child.stdout.destroy();
  const exited = once(child, 'exit');
  write(call(1, 'get', {}));
  write(call(2, 'get', {}));
  await exited;
});

test('the official client works over it for a whole story', async () => {
  const cast = await makeCast(db);
  const { token } = await tokenFor(db, cast.agent);
  const use = caller(await connectStdio(db.url, token));
  await use('create', { content: 'a' });
  await Promise.all(Array.from({ length: 10 }, (_, n) => use('update', { content: `b${n}.`, mode: 'append' })));
  const [, text] = texts(await use('get'));
  for (let n = 0; n < 10; n++) expect(text?.split(`b${n}.`)).toHaveLength(2);
  expect(fields(await use('list')).revisions).toHaveLength(1);
});

test('an id that is not answered yet is refused without it, and what has it is answered', async () => {
  const { write, answer, end, cast } = await startFor();
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  write(initialize);
  await answer('init');
  await db.admin.begin(async (sql) => {
    await sql`select planledger.lock_take('plan', 'test', ${cast.task})`;
    write(call(7, 'update', { content: 'b', mode: 'append' }));
    write(call(7, 'update', { content: 'c', mode: 'append' }));
    expect((await answer(null)).error).toMatchObject({ code: -32600 });
  });
  expect((await answer(7)).result?.structuredContent).toMatchObject({ outcome: 'appended' });
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('a\n\nb');
  expect(await end()).toBe(0);
});
