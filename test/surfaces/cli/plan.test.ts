import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { cli, expectMistake, succeed, useCaller, useFolder } from './process.ts';

const db = useDatabase();
const folder = useFolder();
const caller = useCaller(db);

async function freshTask(): Promise<string> {
  return JSON.parse(await succeed(['task', 'create', 'A task', '--json'], { env: caller.env })).id;
}

const read = async (task: string) => await db.ledger.planGet({ principal: caller.cast.user, task_id: task });

test('a task is created, listed and given a plan, as text and as JSON', async () => {
  expect(await succeed(['task', 'create', 'Named', '--id', 'named'], { env: caller.env })).toBe('named\n');
  const child = JSON.parse(
    await succeed(['task', 'create', 'Below', '--parent', 'named', '--json'], { env: caller.env }),
  );
  expect(child).toMatchObject({ parent_task_id: 'named', title: 'Below', workspace_id: caller.cast.workspace });
  expect(await succeed(['plan', 'create', 'named', '# Plan', '--title', 'The plan'], { env: caller.env })).toMatch(
    /^created named: revision 1, 6 bytes, version [0-9a-f-]{36}\n$/,
  );
  expect(await read('named')).toMatchObject({ content: '# Plan', title: 'The plan' });
  const table = await succeed(['task', 'list'], { env: caller.env });
  expect(table).toMatch(/^TASK +TITLE +PARENT +PLAN +CREATED \(UTC\) +ARCHIVED \(UTC\)$/m);
  expect(table).toMatch(/^named +Named +- +The plan \(revision 1\) /m);
  const list = JSON.parse(await succeed(['task', 'list', '--json'], { env: caller.env }));
  expect(list).toHaveLength(table.trimEnd().split('\n').length - 1);
});

test('task list shows every task, beyond one page of the database', async () => {
  const many = await makeCast(db);
  await db.admin`insert into planledger.tasks (id, workspace_id, root_task_id, title)
    select 'many-' || n, ${many.workspace}, 'many-' || n, 'Many' from generate_series(1, 250) n`;
  const { token } = await createLedger(db.admin).tokenCreate({ principal: many.user, name: 'cli' });
  const list = JSON.parse(await succeed(['task', 'list', '--json', '--token', token], { env: caller.env }));
  expect(new Set(list.map((task: { id: string }) => task.id)).size).toBe(251);
});

test('append takes an argument, even one that begins with a dash, a file, or stdin, and stores it exactly', async () => {
  const task = await freshTask();
  await succeed(['plan', 'create', task, '-'], { env: caller.env, input: '# Plan\n' });
  const ack = await succeed(['plan', 'append', task, '- [ ] one'], { env: caller.env });
  expect(ack).toMatch(new RegExp(`^appended ${task}: joined revision 1, 17 bytes, version `));
  const file = path.join(folder.path, 'fragment.md');
  await writeFile(file, '\ufeffzwei ü\r\n');
  const json = JSON.parse(await succeed(['plan', 'append', task, '--file', file, '--json'], { env: caller.env }));
  await succeed(['plan', 'append', task, '-', '--expected-version', json.version], {
    env: caller.env,
    input: 'three 👍',
  });
  const content = '# Plan\n\n- [ ] one\n\n\ufeffzwei ü\n\nthree 👍';
  expect(json).toMatchObject({ outcome: 'appended', task_id: task, content_bytes: Buffer.byteLength(content) - 10 });
  expect((await read(task))?.content).toBe(content);
});

test('show prints the text byte for byte on stdout and what it is on stderr; --json has all of it', async () => {
  const task = await freshTask();
  await succeed(['plan', 'create', task, '-'], { env: caller.env, input: 'no line end' });
  const shown = await cli(['plan', 'show', task], { env: caller.env });
  const plan = await read(task);
  expect(shown).toMatchObject({ code: 0, stdout: 'no line end' });
  expect(shown.stderr).toMatch(new RegExp(`^\\n-- Plan: revision 1, 11 bytes, .* version ${plan?.version}\n$`));
  expect(JSON.parse(await succeed(['plan', 'show', task, '--json'], { env: caller.env }))).toEqual(
    JSON.parse(JSON.stringify(plan)),
  );
});

test('history, a revision, and restore: the earlier text is current again in a revision of its own', async () => {
  const task = await freshTask();
  await succeed(['plan', 'create', task, 'first'], { env: caller.env });
  // Another author, so that it does not coalesce.
  await db.ledger.planAppend({ principal: caller.cast.service, task_id: task, fragment: 'second' });
  expect(await succeed(['plan', 'show', task, '--revision', '1'], { env: caller.env })).toBe('first');
  const revision = JSON.parse(await succeed(['plan', 'show', task, '--revision', '2', '--json'], { env: caller.env }));
  expect(revision).toMatchObject({ content: 'first\n\nsecond', author_name: 'CI', revision_number: 2 });

  const restored = await cli(['plan', 'restore', task, '1'], { env: caller.env });
  expect(restored.stderr).toMatch(
    /^Restoring revision 1, "Plan", 5 bytes, by Ann, .*, over revision 2 \(13 bytes\)\.\n$/,
  );
  expect(restored.stdout).toMatch(new RegExp(`^restored ${task}: revision 3, 5 bytes, version `));
  expect((await read(task))?.content).toBe('first');
  const again = JSON.parse(await succeed(['plan', 'restore', task, '3', '--json'], { env: caller.env }));
  expect(again).toMatchObject({ outcome: 'already_current', revision_number: 3 });

  const table = (await succeed(['plan', 'history', task], { env: caller.env })).trimEnd().split('\n');
  expect(table).toHaveLength(4);
  expect(table[0]).toMatch(/^REVISION +UPDATED \(UTC\) +BYTES +AUTHOR +RESTORED FROM +TITLE$/);
  expect(table[1]).toMatch(/^3 .* 5 +Ann \(user\) +1 +Plan$/);
  expect(table[2]).toMatch(/^2 .* 13 +CI \(agent\) +- +Plan$/);
  const page = JSON.parse(
    await succeed(['plan', 'history', task, '--limit', '1', '--before', '3', '--json'], { env: caller.env }),
  );
  expect(page).toMatchObject({ revisions: [{ revision_number: 2 }], next_before_revision_number: 2 });
  expect((await cli(['plan', 'history', task, '--limit', '2'], { env: caller.env })).stderr).toBe(
    'older ones: --before 2\n',
  );
});

test('a repeated request id is answered and not written again', async () => {
  const task = await freshTask();
  await succeed(['plan', 'create', task, 'x'], { env: caller.env });
  const call = ['plan', 'append', task, 'once', '--request-id', 'r1'];
  const first = await cli(call, { env: caller.env });
  const second = await cli(call, { env: caller.env });
  expect(second.stdout).toBe(first.stdout);
  expect(second.stderr).toContain('nothing was written now');
  expect((await read(task))?.content).toBe('x\n\nonce');
});

test('a title cannot send control characters to the terminal', async () => {
  const created = await succeed(['task', 'create', 'bad\u001b[2J\u202etitle', '--id', 'hostile'], { env: caller.env });
  expect(created).toBe('hostile\n');
  expect(await succeed(['task', 'list'], { env: caller.env })).toContain('bad\\u{1b}[2J\\u{202e}title');
});

test('refusals of the database say code, message and next action, and change nothing', async () => {
  const task = await freshTask();
  await succeed(['plan', 'create', task, 'kept'], { env: caller.env });
  const before = await read(task);
  const refuse = async (args: string[], ...texts: string[]) =>
    expectMistake(await cli(['plan', ...args], { env: caller.env }), 1, ...texts);
  await refuse(['append', 'no-such-task', 'x'], 'task_unreachable', 'Task no-such-task', 'which token is used');
  await refuse(['show', 'no-such-task'], 'task_unreachable');
  await refuse(['append', task, ' \n'], 'validation_error');
  await refuse(['append', task, 'x', '--expected-version', 'old'], 'plan_version_conflict');
  await refuse(['create', task, 'other'], 'plan_version_required');
  await refuse(['show', task, '--revision', '9'], 'revision_not_found', 'has no revision 9', 'plan history');
  await refuse(['restore', task, '9'], 'revision_not_found');
  await refuse(['history', task, '--limit', '0'], 'validation_error', 'limit');
  const big = path.join(folder.path, 'big.md');
  await writeFile(big, 'x'.repeat(300_000));
  await refuse(['append', task, '--file', big], 'plan_content_too_large', '262144');
  expect(await read(task)).toEqual(before);
  await refuse(['show', await freshTask()], 'plan_not_found', 'has no plan', 'plan history');
});

test('a wrong, a revoked and a read-only token are refused, and change nothing', async () => {
  const administrator = createLedger(db.admin);
  const revoked = await administrator.tokenCreate({ principal: caller.cast.user, name: 'gone' });
  await administrator.tokenRevoke({ token_id: revoked.id });
  for (const token of ['plt_wrong', revoked.token]) {
    const result = await cli(['task', 'create', 'Never', '--token', token], { env: caller.env });
    expectMistake(result, 1, 'unauthenticated', 'planledger token create');
    expect(result.stderr).not.toContain(token);
  }
  const reader = await administrator.principalCreate({
    workspace_id: caller.cast.workspace,
    kind: 'user',
    scopes: ['plan:read', 'task:read'],
  });
  const { token } = await administrator.tokenCreate({ principal: reader.id, name: 'reader' });
  expectMistake(await cli(['task', 'create', 'Never', '--token', token], { env: caller.env }), 1, 'task_unreachable');
  const list = await db.ledger.taskList({ principal: caller.cast.user });
  expect(list.map(({ title }) => title)).not.toContain('Never');
});
