import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { tools } from '../../src/surfaces/mcp/tools.ts';
import { useDatabase } from '../support/fixture.ts';
import { launch, type Running, ready, startCli, succeed, useFolder } from '../surfaces/cli/process.ts';
import { connectHttp } from '../surfaces/mcp/clients.ts';
import { blocksOf, executedBlocks, root } from './blocks.ts';
import { driverSession } from './sessions.ts';
import { statementsOf } from './statements.ts';

const page = 'README.md';
const db = useDatabase();
const folder = useFolder();
const text = await readFile(path.join(root, page), 'utf8');
let start: Running;
let info: Record<string, unknown>;

const main = path.join(root, 'src/surfaces/cli/main.ts');
const installed = '/path/to/planledger/dist/surfaces/cli/main.js';

beforeAll(async () => {
  const file = path.join(folder.path, 'ready.json');
  const args = ['start', '--port', '0', '--ready-file', file];
  start = startCli(args, { cwd: folder.path, env: { DATABASE_URL: db.url } });
  info = await ready(start, file);
});

afterAll(async () => {
  start.child.kill('SIGTERM');
  await start.ended;
});

/** Runs a block in the folder of `start`, with an `npx` that takes the program from the sources. */
async function shell(script: string): Promise<string> {
  const bin = path.join(folder.path, 'bin');
  await mkdir(bin, { recursive: true });
  const npx = `#!/bin/sh\n[ "$1" = planledger ] || exit 9\nshift\nexec '${process.execPath}' '${main}' "$@"\n`;
  await writeFile(path.join(bin, 'npx'), npx, { mode: 0o755 });
  const env = { PATH: `${bin}:${process.env.PATH}` };
  const result = await launch('sh', ['-e', '-c', script], { cwd: folder.path, env }).ended;
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result.stdout;
}

async function agentToken(): Promise<string> {
  const block = (await executedBlocks(page, 'sh')).find(({ text }) => text.includes('token create'));
  return (await shell(`${block?.text}\nprintf %s "$PLANLEDGER_TOKEN"`)).trim();
}

test('the two commands for another terminal add a line and show it', async () => {
  const blocks = await executedBlocks(page, 'sh');
  expect(blocks).toHaveLength(2);
  expect(await shell(blocks[0]?.text ?? '')).toMatch(
    /^appended sample-task: [\s\S]*\n\n- \[ \] Written from another terminal$/,
  );
});

test('the token for an agent reaches its task, and both JSON configurations connect with it', async () => {
  const token = await agentToken();
  expect(token).toMatch(/^plt_/);
  const [http, stdio, ...more] = (await executedBlocks(page, 'json')).map((block) => JSON.parse(block.text));
  expect(more).toEqual([]);
  const variables: Record<string, string> = { PLANLEDGER_TOKEN: token, DATABASE_URL: db.url };
  const expand = (value: string) => value.replace(/\$\{(\w+)\}/g, (_, name: string) => variables[name] ?? '');

  const { url, headers, type } = http.mcpServers.planledger;
  expect(type).toBe('http');
  expect(url).toBe(`http://127.0.0.1:4141${new URL(String(info.mcp_url)).pathname}`);
  expect(expand(headers.Authorization)).toBe(`Bearer ${token}`);
  const clients = [await connectHttp(String(info.mcp_url), token)];

  const { command, args, env } = stdio.mcpServers.planledger;
  const transport = new StdioClientTransport({
    command: command.replace('/path/to/planledger', root),
    args: args.map((argument: string) => argument.replace(installed, main)),
    env: Object.fromEntries(Object.entries<string>(env).map(([name, value]) => [name, expand(value)])),
    stderr: 'ignore',
  });
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  clients.push(client);

  for (const each of clients) {
    const result = await each.callTool({ name: 'get_task_plan_kandev', arguments: {} });
    expect(JSON.stringify(result.content)).toContain('# Try Planledger');
  }
  // What the other clients are told to run is what was run here.
  const others = (await blocksOf(page)).filter(({ text }) => /^(claude|codex) mcp add/.test(text));
  expect(others).toHaveLength(2);
  for (const { text } of others) {
    expect(text).toContain(`  -- ${[command, ...args].join(' ')}\n`);
    expect(text).toContain(` ${url} `);
    for (const name of Object.keys(env)) expect(text).toContain(`--env ${name}="$${name}"`);
  }
});

test('the statements for psql run on the database of start', async () => {
  const session = await driverSession(String(info.database_url));
  onTestFinished(session.close);
  const statements = (await executedBlocks(page, 'sql')).flatMap(statementsOf);
  expect(statements).toHaveLength(2);
  for (const { place, text, refusal } of statements) expect(await session.run(text), place).toBe(refusal);
  const [plan] = await db.admin`select content from planledger.plan_document where task_id = 'sample-task'`;
  expect(plan?.content).toMatch(/\n\n- \[ \] Written in SQL$/);
});

test.each(['python', 'go'])('the SQL in the %s block takes the parameters it is given', async (language) => {
  const [block, ...more] =
    language === 'python' ? await executedBlocks(page, 'python') : await executedBlocks(page, 'go');
  expect(more).toEqual([]);
  let count = 0;
  const queries = [...(block?.text ?? '').matchAll(/"(select [^"]*)"/g)].map(([, sql = '']) => {
    count = 0;
    return sql.replaceAll('%s', () => `$${++count}`);
  });
  expect(queries).toHaveLength(2);
  const digest = createHash('sha256').update(String(info.token)).digest();
  const [found] = await db.app.unsafe(queries[0] ?? '', [digest]);
  const principal = found?.principal_id;
  const before = await db.ledger.planGet({ principal, task_id: 'sample-task' });
  const [acknowledged] = await db.app.unsafe(queries[1] ?? '', [principal, 'sample-task', language, randomUUID()]);
  const after = await db.ledger.planGet({ principal, task_id: 'sample-task' });
  expect(after).toMatchObject({
    content: `${before?.content.trimEnd()}\n\n${language}`,
    version: acknowledged?.version,
  });
});

test('the table of tools names every tool and no other', () => {
  const named = [...text.matchAll(/^\| `(\w+_kandev)` \|/gm)].map(([, name]) => name);
  expect(named).toEqual(tools.map(({ listing }) => listing.name).filter((name) => named.includes(name)));
  expect(named).toHaveLength(tools.length);
});

test('the table of commands names every command and no other', async () => {
  const rows = [...text.matchAll(/^\| `planledger ([^|]*) \|/gm)].map(
    ([, cell = '']) => cell.split('`')[0]?.trim() ?? '',
  );
  const named = [...text.matchAll(/^\| (`planledger [^|]*) \|/gm)].flatMap(([, cell = '']) => {
    const [first = '', ...rest] = [...cell.matchAll(/`([^`]*)`/g)].map(([, name = '']) =>
      name.replace('planledger ', ''),
    );
    const [group] = first.split(' ');
    return [first, ...rest.map((name) => `${group} ${name}`)];
  });
  expect(rows.length).toBeGreaterThan(0);
  const subcommands = async (...group: string[]) => {
    const help = await succeed([...group, '--help']);
    const [, list = ''] = help.split('Commands:\n');
    return [...list.matchAll(/^ {2}([\w-]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  };
  const all: string[] = [];
  for (const command of await subcommands()) {
    const below = await subcommands(command);
    all.push(...(below.length === 0 ? [command] : below.map((name) => `${command} ${name}`)));
  }
  expect(named.sort()).toEqual(all.sort());
});

test('the conformance scenarios are those of the suite, and the ones that apply are tested', async () => {
  const [, section = ''] = text.split('## MCP conformance');
  const [apply = '', not = ''] = (section.split('\n## ')[0] ?? '').split('These do not apply');
  const names = (part: string) => [...part.matchAll(/`([a-z0-9]+(?:-[a-z0-9]+)*)`/g)].map(([, name = '']) => name);
  const { stdout } = await promisify(execFile)(process.execPath, [
    path.join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
    ...['list', '--server'],
  ]);
  const scenarios = [...stdout.matchAll(/^ {2}- ([\w-]+) \[/gm)].map(([, name]) => name);
  expect([...names(apply), ...names(not)].sort()).toEqual(scenarios.sort());
  const source = await readFile(path.join(root, 'test/surfaces/http/official-tools.test.ts'), 'utf8');
  const tested = /test\.each\(\[([^\]]*)\]\)\(\s*'conformance/.exec(source)?.[1] ?? '';
  expect([...tested.matchAll(/'([\w-]+)'/g)].map(([, name]) => name)).toEqual(names(apply));
});
