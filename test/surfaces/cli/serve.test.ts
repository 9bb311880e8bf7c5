import { spawn } from 'node:child_process';
import { chown, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import {
  cli,
  expectMistake,
  nobody,
  type Running,
  ready,
  startCli,
  succeed,
  useCleanup,
  useDatabases,
  useFolder,
} from './process.ts';

const db = useDatabase();
const databases = useDatabases();
const folder = useFolder();
const kept = useCleanup();
let cast: Cast;
let token: string;

beforeAll(async () => {
  cast = await makeCast(db);
  token = (await createLedger(db.admin).tokenCreate({ principal: cast.user, name: 'cli' })).token;
});

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};

async function served(running: Running): Promise<string> {
  for (;;) {
    const found = /http:\/\/[\d.]+:\d+/.exec(running.output.stdout);
    if (found !== null) return found[0];
    if (running.child.exitCode !== null) throw new Error(running.output.stderr);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('serve migrates an empty database, answers MCP clients, and ends cleanly while one is connected', async () => {
  const empty = await databases.empty();
  const running = kept(startCli(['serve', '--port', '0'], { env: { DATABASE_URL: empty } }));
  const url = await served(running);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const env = { DATABASE_URL: empty };
  await succeed(['workspace', 'create', 'W', '--id', 'w'], { env });
  const theirs = (await succeed(['token', 'create', '--workspace', 'w'], { env })).trim();
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${theirs}` } },
    }),
  );
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('update_task_plan_kandev');
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
  await client.close();
});

test('two servers share one database', async () => {
  const options = { env: { DATABASE_URL: db.url } };
  const both = [1, 2].map(() => kept(startCli(['serve', '--port', '0'], options)));
  const urls = await Promise.all(both.map(served));
  for (const url of urls) expect((await fetch(`${url}/readyz`)).status).toBe(200);
  for (const { child } of both) child.kill('SIGINT');
  for (const { ended } of both) expect(await ended).toMatchObject({ code: 0 });
});

test('mcp speaks JSON-RPC and nothing else on stdout, and ends with its stdin', async () => {
  const messages = [
    initialize,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ];
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
  const result = await cli(['mcp'], { env: { DATABASE_URL: db.url, PLANLEDGER_TOKEN: token }, input });
  expect(result.code, result.stderr).toBe(0);
  const lines = result.stdout.trimEnd().split('\n');
  const answers = lines.map((line) => JSON.parse(line));
  expect(answers.map(({ jsonrpc, id }) => ({ jsonrpc, id }))).toEqual([
    { jsonrpc: '2.0', id: 1 },
    { jsonrpc: '2.0', id: 2 },
  ]);
  expect(answers[1].result.tools.length).toBeGreaterThanOrEqual(8);
});

test('mcp serves while the database is away, says so on stderr, and answers calls with the code for it', async () => {
  const call = { name: 'get_task_plan_kandev', arguments: { task_id: 't' } };
  const messages = [
    initialize,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call },
  ];
  const input = messages.map((message) => `${JSON.stringify(message)}\n`).join('');
  const env = { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/none', PLANLEDGER_TOKEN: 'x' };
  const result = await cli(['mcp'], { env, input });
  expect(result.code).toBe(0);
  expect(result.stderr).toContain('database_unavailable: The database cannot be reached');
  expect(result.stderr + result.stdout).not.toContain('secret');
  const answers = result.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(answers.map(({ id }) => id)).toEqual([1, 2]);
  expect(JSON.stringify(answers[1])).toContain('database_unavailable');
});

test('mcp ends on a signal although its stdin stays open, and refuses a wrong token with words', async () => {
  const main = path.resolve(import.meta.dirname, '../../../src/surfaces/cli/main.ts');
  const env = { ...process.env, DATABASE_URL: db.url, PLANLEDGER_TOKEN: token };
  const child = spawn(process.execPath, [main, 'mcp'], { env, stdio: ['pipe', 'pipe', 'inherit'], timeout: 30_000 });
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const ended = new Promise((resolve) => child.once('close', (code) => resolve(code)));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  const wrong = await cli(['mcp'], { env: { DATABASE_URL: db.url, PLANLEDGER_TOKEN: 'plt_wrong' } });
  expectMistake(wrong, 1, 'unauthenticated', 'planledger token create');
});

test('start on DATABASE_URL makes the sample in an empty database, once, and keeps its token in the data folder', async () => {
  const env = { DATABASE_URL: await databases.empty() };
  const infos: Record<string, unknown>[] = [];
  for (const dataDir of ['one', 'one', 'two']) {
    const place = path.join(folder.path, dataDir);
    const file = `${place}.json`;
    const running = kept(startCli(['start', '--port', '0', '--data-dir', place, '--ready-file', file], { env }));
    infos.push(await ready(running, file));
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0 });
  }
  const [first, again, elsewhere] = infos;
  expect(first).toMatchObject({ task_id: 'sample-task', database_url: env.DATABASE_URL });
  expect(again?.token).toBe(first?.token);
  expect(elsewhere?.task_id).toBe('sample-task');
  expect(elsewhere?.token).not.toBe(first?.token);
  expect(
    await succeed(['plan', 'history', 'sample-task'], { env: { ...env, PLANLEDGER_TOKEN: String(elsewhere?.token) } }),
  ).toMatch(/^1 /m);
});

test.runIf(process.getuid?.() === 0)('start works for a user without an entry in the system, as User', async () => {
  const env = { DATABASE_URL: await databases.empty() };
  const place = path.join(folder.path, 'nobody');
  await mkdir(place);
  await chown(place, nobody, nobody);
  const file = path.join(place, 'ready.json');
  const args = ['start', '--port', '0', '--data-dir', place, '--ready-file', file];
  const running = kept(startCli(args, { env, uid: nobody }));
  const { token } = await ready(running, file);
  const history = ['plan', 'history', 'sample-task', '--token', String(token)];
  expect(await succeed(history, { env })).toContain(' User (user) ');
  running.child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 0 });
});

test('start on a database with workspaces of others makes nothing there and says how to get a token', async () => {
  const env = { DATABASE_URL: db.url };
  const place = path.join(folder.path, 'others');
  const file = `${place}.json`;
  const count = async () =>
    (
      await db.admin`select (select count(*) from planledger.principals) as p, (select count(*) from planledger.workspaces) as w`
    )[0];
  const before = await count();
  const running = kept(startCli(['start', '--port', '0', '--data-dir', place, '--ready-file', file], { env }));
  expect(await ready(running, file)).toMatchObject({ token: null, task_id: null });
  running.child.kill('SIGINT');
  const result = await running.ended;
  expect(result.code).toBe(0);
  expect(result.stdout).toContain('npx planledger token create --workspace ID');
  expect(await count()).toEqual(before);
});
