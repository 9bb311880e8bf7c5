import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { cli, expectMistake, succeed, useFolder } from './process.ts';

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

test('a database URL that is none is a mistake in the command', async () => {
  expectMistake(
    await cli(['plan', 'show', 't', '--token', 'x', '--database-url', 'nonsense']),
    2,
    'not a URL',
    'postgres://',
  );
});
