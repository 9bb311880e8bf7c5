import { beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { cli, expectMistake, type Running, startCli, succeed, useCaller, useCleanup } from './process.ts';

const db = useDatabase();
const caller = useCaller(db);
const kept = useCleanup();
let task: string;

beforeAll(async () => {
  task = caller.cast.task;
  await db.ledger.planCreate({ principal: caller.cast.user, task_id: task, content: 'Some text' });
});

test('comments are added, listed, edited and deleted', async () => {
  const { env } = caller;
  expect(await succeed(['comment', 'list', task], { env })).toBe('no comments\n');
  const added = await cli(['comment', 'add', task, 'Why?\nSo', '--about', 'text', '--from', '5', '--to', '9'], { env });
  expect(added).toMatchObject({ code: 0, stderr: '1 pending, revision 1\n' });
  const id = added.stdout.trim();
  const { comments } = JSON.parse(await succeed(['comment', 'list', task, '--json'], { env }));
  expect(comments).toMatchObject([{ id, body: 'Why?\nSo', selected_text: 'text', anchor_from: 5, anchor_to: 9 }]);
  expect(await succeed(['comment', 'list', task], { env })).toMatch(new RegExp(`^ID .*\n${id}  1 .*text +Why\\?…\n$`));
  await succeed(['comment', 'edit', task, id.toUpperCase(), '-'], { env, input: 'Because' });
  const again = ['comment', 'add', task, 'Other', '--about', 'text', '--id', id];
  expectMistake(await cli(again, { env }), 1, 'comment_id_conflict', 'CLI: comment edit');
  const left = JSON.parse(await succeed(['comment', 'delete', task, id, '--json'], { env }));
  expect(left).toMatchObject({ revision: 3, comments: [] });
  expectMistake(await cli(['comment', 'delete', task, id], { env }), 1, 'plan_comments_changed', 'comment list');
  expectMistake(await cli(['comment', 'add', task, 'x'], { env }), 2, '--about');
  expectMistake(
    await cli(['comment', 'add', task, 'x', '--about', 'y', '--from', 'z'], { env }),
    2,
    'z is not a position',
  );
});

test('events tail prints what anybody commits, and ends with Ctrl-C', async () => {
  const tails: Running[] = [['--task', task], ['--json']].map((options) =>
    kept(startCli(['events', 'tail', ...options], { env: { DATABASE_URL: db.url } })),
  );
  for (const { output } of tails) await expect.poll(() => output.stderr).toContain('Listening.');
  const other = await createLedger(db.admin).taskCreate({ principal: caller.cast.user, task_id: null, title: 'Other' });
  await db.ledger.planAppend({ principal: caller.cast.user, task_id: task, fragment: 'more' });
  const [one, all] = tails;
  await expect.poll(() => one?.output.stdout).toBe(`${task} plan.updated revision 1 (joined)\n`);
  await expect.poll(() => all?.output.stdout.split('\n')).toHaveLength(3);
  expect(JSON.parse(all?.output.stdout.split('\n')[0] ?? '')).toMatchObject({
    task_id: other.id,
    kind: 'task.created',
  });
  for (const tail of tails) {
    tail.child.kill('SIGINT');
    expect((await tail.ended).code).toBe(0);
  }
});
