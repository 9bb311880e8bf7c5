import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { stored } from '../observe.ts';
import { makePlan, read } from '../plans.ts';
import { commentOn, find, listComments } from './comments.ts';

const db = useDatabase();

test('a task without a plan, and a plan without comments', async () => {
  const bare = await makeCast(db);
  expect(await db.ledger.commentList({ principal: bare.agent, task_id: bare.task })).toEqual({
    task_id: bare.task,
    plan_id: null,
    revision: 0,
    comments: [],
  });
  const cast = await makePlan(db, 'a');
  const empty = { task_id: cast.task, plan_id: cast.created.plan_id, revision: 0, comments: [] };
  expect(await listComments(db, cast)).toEqual(empty);
});

test('create, edit and delete each answer the whole snapshot, raise the revision by one and leave the plan alone', async () => {
  const cast = await makePlan(db, 'Some *text* here');
  const before = await read(db, cast);
  const body = '  Line\r\n\ttwo 🦊\n\n';
  const made = commentOn(cast, { body, selected_text: '*text*', anchor_from: 0, anchor_to: 0 });
  const created = await db.ledger.commentCreate(made);
  const comment = {
    id: made.comment_id,
    task_id: cast.task,
    plan_id: cast.created.plan_id,
    ...{ body, selected_text: '*text*', anchor_from: 0, anchor_to: 0, version: 1 },
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
    updated_at: created.comments[0]?.created_at,
  };
  expect(created).toEqual({ task_id: cast.task, plan_id: cast.created.plan_id, revision: 1, comments: [comment] });
  expect(await listComments(db, cast)).toEqual(created);

  const second = await db.ledger.commentCreate(commentOn(cast, { principal: cast.agent }));
  expect(second).toMatchObject({ revision: 2, comments: [comment, { version: 1 }] });

  const by = { principal: cast.user, task_id: cast.task, plan_id: cast.created.plan_id, comment_id: made.comment_id };
  const edited = await db.ledger.commentUpdate({ ...by, body: 'Other', expected_version: 1 });
  expect(edited.revision).toBe(3);
  expect(find(edited, made.comment_id)).toEqual({
    ...comment,
    ...{ body: 'Other', version: 2, created_at: created.comments[0]?.created_at, updated_at: expect.any(String) },
  });
  expect(find(edited, made.comment_id).updated_at > (created.comments[0]?.updated_at ?? '')).toBe(true);

  const deleted = await db.ledger.commentDelete({ ...by, expected_version: 2 });
  expect(deleted).toMatchObject({ revision: 4, comments: [second.comments[1]] });
  expect(await listComments(db, cast)).toEqual(deleted);
  expect(await read(db, cast)).toEqual(before);
  const events = await db.admin`
    select kind, plan_id from planledger.events where task_id = ${cast.task} order by id offset 2`;
  expect(events).toEqual(Array(4).fill({ kind: 'plan.comments_changed', plan_id: cast.created.plan_id }));
});

test('the order is that of creation, then of ids', async () => {
  const cast = await makePlan(db, 'a');
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) {
    const one = commentOn(cast);
    ids.push(one.comment_id);
    await db.ledger.commentCreate(one);
  }
  expect((await listComments(db, cast)).comments.map(({ id }) => id)).toEqual(ids);
  await db.admin`update planledger.plan_comments set created_at = now() where task_id = ${cast.task}`;
  expect((await listComments(db, cast)).comments.map(({ id }) => id)).toEqual([...ids].sort());
});

test('an identical repeat changes nothing, also from another session of the same caller', async () => {
  const cast = await makePlan(db, 'a');
  const made = commentOn(cast);
  const first = await db.ledger.commentCreate(made);
  const before = await stored(db, cast.task);
  expect(await db.ledger.commentCreate({ ...made, plan_id: made.plan_id.toUpperCase() })).toEqual(first);
  expect(await db.ledger.commentCreate({ ...made, comment_id: made.comment_id.toUpperCase() })).toEqual(first);
  expect(await stored(db, cast.task)).toEqual(before);
});

test.each(['deleted', 'delivered', 'gone with its plan'])(
  'an id whose comment was %s stays used: a late retry answers and revives nothing',
  async (how) => {
    const cast = await makePlan(db, 'a');
    const made = commentOn(cast);
    await db.ledger.commentCreate(made);
    const by = { principal: cast.user, task_id: cast.task };
    if (how === 'deleted') {
      await db.ledger.commentDelete({ ...by, plan_id: made.plan_id, comment_id: made.comment_id, expected_version: 1 });
    } else if (how === 'delivered') {
      await db.admin`select planledger.comments_consume('deliver', ${cast.task}, ${made.plan_id}, ${[made.comment_id]}, ${[1]})`;
    } else {
      await db.ledger.planDelete(by);
      await db.ledger.planCreate({ ...by, content: 'b' });
    }
    const before = await stored(db, cast.task);
    const snapshot = await listComments(db, cast);
    expect(snapshot.comments).toEqual([]);
    expect(await db.ledger.commentCreate(made)).toEqual(snapshot);
    expect(await db.ledger.commentCreate({ ...made, body: 'Other', plan_id: snapshot.plan_id })).toEqual(snapshot);
    expect(await stored(db, cast.task)).toEqual(before);
  },
);

test('a delivery takes the comments it names, in its order, in one step', async () => {
  const cast = await makePlan(db, 'a');
  const made = [commentOn(cast), commentOn(cast), commentOn(cast)];
  for (const one of made) await db.ledger.commentCreate(one);
  const [first, second, third] = made.map(({ comment_id }) => comment_id);
  const consume = (ids: (string | undefined)[], versions: number[]) =>
    db.admin<{ id: string; body: string }[]>`
      select id, body from planledger.comments_consume('deliver', ${cast.task}, ${cast.created.plan_id}, ${ids as string[]}, ${versions})`;
  const before = await stored(db, cast.task);
  const stale: [(string | undefined)[], number[]][] = [
    [
      [first, second],
      [1, 2],
    ],
    [
      [first, first],
      [1, 1],
    ],
    [
      [first, randomUUID()],
      [1, 1],
    ],
    [[first, second], [1]],
    [[], []],
  ];
  for (const [ids, versions] of stale) {
    await expect(consume(ids, versions)).rejects.toMatchObject({ code: 'TP409' });
  }
  expect(await stored(db, cast.task)).toEqual(before);
  expect((await consume([third, first], [1, 1])).map(({ id }) => id)).toEqual([third, first]);
  expect(await listComments(db, cast)).toMatchObject({ revision: 4, comments: [{ id: second }] });
});

test('comments go with their plan, and with their task', async () => {
  const cast = await makePlan(db, 'a');
  await db.ledger.commentCreate(commentOn(cast));
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planDelete(by);
  expect(await db.ledger.commentList(by)).toMatchObject({ plan_id: null, revision: 0, comments: [] });
  const again = await db.ledger.planCreate({ ...by, content: 'b' });
  expect(await db.ledger.commentList(by)).toMatchObject({ plan_id: again.plan_id, revision: 0, comments: [] });
  expect(await db.ledger.commentCreate(commentOn(cast, { plan_id: again.plan_id }))).toMatchObject({ revision: 1 });
  await db.ledger.taskDelete(by);
  for (const table of ['plan_comments', 'plan_comment_ids', 'plan_comment_heads']) {
    expect(await db.admin`select from ${db.admin(`planledger.${table}`)} where task_id = ${cast.task}`).toHaveLength(0);
  }
});
