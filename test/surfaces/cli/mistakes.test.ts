import { access, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cli, expectMistake, launch, main, nobody, startCli, succeed, useFolder } from './process.ts';

const folder = useFolder();
const nowhere = 'postgres://someone:secret@127.0.0.1:1/none';

test('help and version go to stdout and succeed; a missing command explains itself on stderr', async () => {
  expect(await succeed(['--version'])).toMatch(/^\d+\.\d+\.\d+\n$/);
  const help = await succeed(['--help']);
  for (const name of ['start', 'serve', 'mcp', 'migrate', 'doctor', 'token', 'task', 'plan']) {
    expect(help).toMatch(new RegExp(`^ {2}${name} `, 'm'));
  }
  expect(await succeed(['plan', 'append', '--help'])).toContain('--expected-version');
  expect(await cli([])).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Usage: planledger') });
});

test.for([
  { args: ['frobnicate'], says: 'unknown command' },
  { args: ['plan', 'show'], says: "missing required argument 'task'" },
  { args: ['plan', 'show', 't', '--bogus'], says: "unknown option '--bogus'" },
  { args: ['plan', 'append', 't', '--jsn'], says: 'Unknown option --jsn' },
  { args: ['plan', 'append', 't', 'a', 'b'], says: 'too many arguments' },
  { args: ['plan', 'append', 't'], says: 'Give the text once' },
  { args: ['plan', 'append', 't', 'x', '--file', 'y'], says: 'Give the text once' },
  { args: ['plan', 'append', 't', '--file', '/no/such/file'], says: 'Cannot read /no/such/file' },
  { args: ['plan', 'show', 't', '--revision', 'two'], says: 'two is not a revision number' },
  { args: ['plan', 'show', 't', '--database-url', 'x', '--data-dir', 'y'], says: 'cannot be used with' },
  { args: ['token', 'create'], says: '--workspace' },
  { args: ['token', 'create', '--workspace', 'w', '--read-only', '--scopes', 'x'], says: 'cannot be used with' },
  { args: ['start', '--port', '99999'], says: '99999 is not a port' },
  { args: ['serve', '--port', '-1'], says: '-1 is not a port' },
])('$args: $says, with exit code 2 and no stack trace', async ({ args, says }) => {
  expectMistake(await cli(args), 2, says);
});

test.for(['plan show t', 'task list', 'token list', 'doctor', 'mcp'])(
  'planledger %s without a database says which ways there are to name one',
  async (command) => {
    const result = await cli(command.split(' '), { cwd: folder.path });
    expectMistake(result, 2, 'No database', 'DATABASE_URL', 'planledger start');
  },
);

test.for(['serve', 'migrate'])('planledger %s works only on a database that is named', async (command) => {
  expectMistake(await cli([command], { cwd: folder.path }), 2, 'No database', 'DATABASE_URL');
});

test.for(['plan show t', 'task list', 'mcp'])('planledger %s without a token says how to get one', async (command) => {
  const result = await cli(command.split(' '), { env: { DATABASE_URL: nowhere } });
  expectMistake(result, 2, 'PLANLEDGER_TOKEN', 'planledger token create');
});

test.for(['plan show t --token x', 'token list', 'migrate', 'serve --port 0', 'start --port 0 --data-dir external'])(
  'planledger %s with a database that does not answer says so, and not the password',
  async (command) => {
    const result = await cli(command.split(' '), { env: { DATABASE_URL: nowhere }, cwd: folder.path });
    expectMistake(result, 1, 'database_unavailable', 'ECONNREFUSED', 'DATABASE_URL');
    expect(result.stderr).not.toContain('secret');
  },
);

test('text that is not UTF-8 is refused rather than altered', async () => {
  const file = path.join(folder.path, 'latin1.md');
  await writeFile(file, Buffer.from([0x66, 0xfc, 0x72]));
  const env = { DATABASE_URL: nowhere, PLANLEDGER_TOKEN: 'x' };
  expectMistake(await cli(['plan', 'append', 't', '--file', file], { env }), 2, 'is not UTF-8');
  const input = Buffer.from([0xff, 0xfe]);
  expectMistake(await cli(['plan', 'append', 't', '-'], { env, input }), 2, 'stdin is not UTF-8');
});

test.each([
  ['plan', 'show', 't', '--token', 'x'],
  ['migrate'],
  ['serve'],
  ['mcp', '--token', 'x'],
  ['doctor'],
  ['start'],
])('a database URL that is none is a mistake in the command: %s %s', async (...command) => {
  const options = command[0] === 'start' ? ['--data-dir', path.join(folder.path, 'not-made')] : [];
  for (const DATABASE_URL of [
    'nonsense',
    'mysql://localhost/plans',
    'postgres://host:port/plans',
    'postgres://u:a%@host/plans',
  ]) {
    const run = await cli([...command, ...options], { env: { DATABASE_URL } });
    expectMistake(run, 2, 'The database URL has the wrong form.', 'postgres://user:password@host:5432/database');
  }
  await expect(access(path.join(folder.path, 'not-made'))).rejects.toThrow('ENOENT');
});

const description = {
  url: 'http://127.0.0.1:1',
  mcp_url: 'http://127.0.0.1:1/mcp',
  ws_url: 'ws://127.0.0.1:1/ws',
  database_url: nowhere,
  token: 'x',
  task_id: null,
  pid: process.pid,
};

test.for([
  { what: 'that is empty', text: '' },
  { what: 'that is half-written', text: '{"url": "http://127.0.0.1:4' },
  { what: 'with null', text: 'null' },
  { what: 'with a list', text: '[1]' },
  { what: 'without a URL', text: JSON.stringify({ ...description, url: undefined }) },
  { what: 'with a database URL that is none', text: JSON.stringify({ ...description, database_url: 'x' }) },
  ...[0, -1, 1.5, 2 ** 31, 1e300, '1'].map((pid) => ({
    what: `with the pid ${pid}`,
    text: JSON.stringify({ ...description, pid }),
  })),
])('a running.json $what names no running start', async ({ text }) => {
  const dataDir = path.join(folder.path, '.planledger');
  await mkdir(dataDir, { recursive: true });
  await writeFile(path.join(dataDir, 'running.json'), text);
  const show = ['plan', 'show', 't'];
  expectMistake(await cli([...show, '--data-dir', dataDir]), 2, 'No `planledger start` is running on', dataDir);
  expectMistake(await cli(show, { cwd: folder.path }), 2, 'No database', 'planledger start');
});

test.for([
  { what: 'in a folder that does not exist', file: 'none/ready.json', says: 'no such file or directory' },
  { what: 'below a file', file: 'plain/ready.json', says: 'not a directory' },
  { what: 'that is a folder', file: '.', says: 'not an ordinary file' },
  { what: 'without a name', file: '', says: 'not an ordinary file' },
  { what: 'that is a pipe', file: 'pipe', says: 'not an ordinary file' },
])('start refuses a ready file $what before anything is started', async ({ file, says }) => {
  await writeFile(path.join(folder.path, 'plain'), '');
  await launch('mkfifo', ['-m', '600', 'pipe'], { cwd: folder.path }).ended; // only the first time
  const dataDir = path.join(folder.path, 'not-started');
  const args = ['start', '--port', '0', '--data-dir', dataDir, '--ready-file', file];
  const result = await cli(args, { cwd: folder.path });
  expectMistake(result, 2, 'usage: Cannot use', says, 'Give --ready-file a file in a folder');
  expect(await readdir(dataDir)).toEqual(['.gitignore']);
});

test.runIf(process.getuid?.() === 0)(
  'start refuses folders that it may not write to, each with its option',
  async () => {
    const theirs = path.join(folder.path, 'theirs');
    await mkdir(theirs);
    await chown(theirs, nobody, nobody);
    const start = (...args: string[]) => cli(['start', '--port', '0', ...args], { cwd: theirs, uid: nobody });
    const file = path.join(folder.path, 'ready.json');
    expectMistake(await start('--ready-file', file), 2, `Cannot use ${file} as ready file`, 'EACCES', '--ready-file');
    expectMistake(await start('--data-dir', folder.path), 2, 'as data folder', 'EACCES', '--data-dir');
  },
);

test('start removes the ready file that a killed one left before anything that takes time, and none that is true', async () => {
  const file = path.join(folder.path, 'stale.json');
  const args = ['start', '--port', '0', '--data-dir', 'external', '--ready-file', 'stale.json'];
  const start = () => cli(args, { cwd: folder.path, env: { DATABASE_URL: nowhere } });
  // Empty; of a process that is gone; of one whose pid is another program's by now.
  const ended = startCli(['--version']);
  await ended.ended;
  for (const text of ['', ...[ended.child.pid, process.pid].map((pid) => JSON.stringify({ ...description, pid }))]) {
    await writeFile(file, text);
    expectMistake(await start(), 1, 'database_unavailable');
    await expect(readFile(file), text).rejects.toMatchObject({ code: 'ENOENT' });
  }
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const alive = JSON.stringify({ ...description, url: `http://127.0.0.1:${port}` });
  await writeFile(file, alive);
  expectMistake(await start(), 1, 'database_unavailable');
  server.close();
  expect(await readFile(file, 'utf8')).toBe(alive);
});

test('an IPv6 address in a database URL is one host', async () => {
  const run = await cli(['plan', 'show', 't', '--token', 'x'], { env: { DATABASE_URL: 'postgres://u@[::1]:1/x' } });
  expectMistake(run, 1, 'database_unavailable', '::1:1');
});

test('a full disk for the output is said in words, and a text that is far too long too', async () => {
  const full = await launch('sh', ['-c', `"${process.execPath}" "${main}" --help > /dev/full`], {}).ended;
  expectMistake(full, 1, 'output_failed: The output cannot be written');
  const long = await cli(['plan', 'append', 'x', '-'], { input: 'a'.repeat(9_000_000) });
  expectMistake(long, 2, 'stdin has 9000000 bytes, more than any text here may have');
});
