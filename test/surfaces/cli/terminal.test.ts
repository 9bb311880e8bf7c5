import { randomUUID } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { failureText } from '../../../src/surfaces/cli/failure.ts';
import { useDatabase } from '../../support/fixture.ts';
import { cli, startCli, succeed, useCaller, useCleanup, useFolder } from './process.ts';

const db = useDatabase();
const folder = useFolder();
const kept = useCleanup();
const hostile = 'a\u001b[2J\u0007\r\nFORGED\u202eb\u2067c\u009bd';
const shown = 'a\\u{1b}[2J\\u{7}\\u{d}\\u{a}FORGED\\u{202e}b\\u{2067}c\\u{9b}d';
const caller = useCaller(db);

function expectHarmless(text: string): void {
  expect(text).toContain(shown);
  for (const raw of ['\u001b', '\u0007', '\r', '\nFORGED', '\u202e', '\u2067', '\u009b'])
    expect(text).not.toContain(raw);
}

test.for([
  { what: 'a task id to show', args: ['plan', 'show', hostile], code: 1 },
  { what: 'a task id to list', args: ['plan', 'history', hostile], code: 1 },
  { what: 'a task id to write to', args: ['plan', 'append', hostile, 'x'], code: 1 },
  { what: 'a number', args: ['plan', 'show', 't', '--revision', hostile], code: 2 },
  { what: 'a file', args: ['plan', 'append', 't', '--file', hostile], code: 2 },
  { what: 'a ready file', args: ['start', '--ready-file', `${hostile}/x`, '--data-dir', 'unused'], code: 2 },
  { what: 'a folder', args: ['token', 'list', '--data-dir', hostile], code: 2 },
  { what: 'a port', args: ['serve', '--port', hostile], code: 2 },
  { what: 'a command', args: [hostile], code: 2 },
  { what: 'a subcommand', args: ['plan', hostile], code: 2 },
  { what: 'an option', args: ['plan', 'show', 't', `--${hostile}`], code: 2 },
])('an error shows the control characters of $what and sends none', async ({ args, code }) => {
  const result = await cli(args, { env: caller.env, cwd: folder.path });
  expect(result).toMatchObject({ code, stdout: '' });
  expectHarmless(result.stderr);
});

test('a mistyped command is still answered with a suggestion', async () => {
  expect((await cli(['strat'])).stderr).toBe(
    "planledger: usage: unknown command 'strat' (Did you mean start?)\n(--help says more)\n",
  );
});

test('DEBUG=1 shows where a fault happened, line by line, and sends no control characters either', () => {
  vi.stubEnv('DEBUG', '1');
  const text = failureText(new Error(hostile, { cause: new Error(hostile) }));
  vi.unstubAllEnvs();
  expectHarmless(text);
  expect(text).toMatch(/\n {4}at .*terminal\.test\.ts/);
});

test('lists, acknowledgements and notes show the control characters of ids, titles and names', async () => {
  const task = `${hostile}-${randomUUID()}`;
  expectHarmless(await succeed(['task', 'create', hostile, '--id', task], { env: caller.env }));
  const written = await cli(['plan', 'create', task, hostile, '--title', hostile], { env: caller.env });
  expectHarmless(written.stdout);
  const plan = await cli(['plan', 'show', task], { env: caller.env });
  expect(plan.stdout).toBe(hostile); // the text itself, byte for byte
  expectHarmless(plan.stderr);
  expectHarmless((await cli(['plan', 'show', task, '--revision', '9'], { env: caller.env })).stderr);
  expectHarmless(await succeed(['task', 'list'], { env: caller.env }));
  expectHarmless(await succeed(['plan', 'history', task], { env: caller.env }));
  const restored = await cli(['plan', 'restore', task, '1'], { env: caller.env });
  expectHarmless(restored.stdout);
  expectHarmless(restored.stderr);
  expectHarmless(await succeed(['workspace', 'create', 'W', '--id', `w-${task}`], { env: caller.env }));

  await succeed(['token', 'create', '--workspace', caller.cast.workspace, '--name', hostile], { env: caller.env });
  const list = ['token', 'list', '--workspace', caller.cast.workspace];
  expectHarmless(await succeed(list, { env: caller.env }));
  const tokens: { id: string; name: string }[] = JSON.parse(await succeed([...list, '--json'], { env: caller.env }));
  const made = tokens.find(({ name }) => name === hostile); // for programs it is as it was given
  expectHarmless(await succeed(['token', 'revoke', String(made?.id)], { env: caller.env }));
});

test('doctor shows the control characters of a name in the database, as text; its JSON has the name', async () => {
  const role = `${hostile}-${randomUUID()}`;
  await db.admin`create role ${db.admin(role)} login password 'x' in role planledger_app`;
  try {
    const url = new URL(db.url);
    [url.username, url.password] = [encodeURIComponent(role), 'x'];
    const theirs = { env: { DATABASE_URL: url.href, PLANLEDGER_PGBOUNCER: '1' } };
    const text = (await cli(['doctor'], theirs)).stdout;
    expectHarmless(text);
    expect(text).toContain(`alter role "${shown}`);
    expect(JSON.parse((await cli(['doctor', '--json'], theirs)).stdout).checks[0].found).toContain(hostile);
  } finally {
    await db.admin`drop role ${db.admin(role)}`;
  }
});

test('the banner of start shows the control characters of its folder', async () => {
  const running = kept(
    startCli(['start', '--port', '0', '--data-dir', hostile], { env: caller.env, cwd: folder.path }),
  );
  while (!running.output.stdout.includes('Ctrl-C stops it')) await new Promise((resolve) => setTimeout(resolve, 20));
  running.child.kill('SIGINT');
  expect(await running.ended).toMatchObject({ code: 0 });
  expectHarmless(running.output.stdout);
});
