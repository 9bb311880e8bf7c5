import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { canary, expectRefusal } from '../observe.ts';
import { makePlan } from '../plans.ts';
import { commentOn, listComments } from './comments.ts';

const db = useDatabase();

describe('another plan id, comment id or version', () => {
  const stale = [
    { what: 'another plan id', plan_id: randomUUID() },
    { what: 'a plan id that is none', plan_id: 'none' },
    { what: 'no plan id', plan_id: null },
    { what: 'another version', expected_version: 2 },
    { what: 'another comment id', comment_id: randomUUID() },
  ];
  test.each(stale)('$what', async ({ what, ...change }) => {
    const cast = await makePlan(db, 'a');
    const made = commentOn(cast);
    await db.ledger.commentCreate(made);
    const values = { ...made, expected_version: 1, ...change };
    const { principal, task_id, plan_id, comment_id, expected_version, body } = values;
    const by = { principal, task_id, plan_id, comment_id, expected_version };
    const code = 'plan_comments_changed' as const;
    const update = () => db.ledger.commentUpdate({ ...by, body });
    await expectRefusal(db, cast.task, update, { code, operation: 'update_comment' });
    const remove = () => db.ledger.commentDelete(by);
    await expectRefusal(db, cast.task, remove, { code, operation: 'delete_comment' });
    if (!('plan_id' in change)) return;
    const create = () => db.ledger.commentCreate({ ...commentOn(cast), ...change });
    await expectRefusal(db, cast.task, create, { code, operation: 'create_comment' });
  });

  test('a plan that was deleted, and one created again', async () => {
    const cast = await makePlan(db, 'a');
    const by = { principal: cast.user, task_id: cast.task };
    const create = () => db.ledger.commentCreate(commentOn(cast));
    const refusal = { code: 'plan_comments_changed', operation: 'create_comment' } as const;
    await db.ledger.planDelete(by);
    await expectRefusal(db, cast.task, create, refusal);
    await db.ledger.planCreate({ ...by, content: 'b' });
    await expectRefusal(db, cast.task, create, refusal);
  });
});

test.each([
  { body: 'Other' },
  { selected_text: 'other' },
  { anchor_from: 0 },
  { anchor_to: 6 },
  { plan_id: randomUUID() },
])('an id that is in use for other data: %j', async (change) => {
  const cast = await makePlan(db, 'a');
  const made = commentOn(cast);
  await db.ledger.commentCreate(made);
  await expectRefusal(db, cast.task, () => db.ledger.commentCreate({ ...made, ...change }), {
    code: 'comment_id_conflict',
    operation: 'create_comment',
    details: { id: made.comment_id },
  });
});

test('the same id on another task is another comment', async () => {
  const [one, other] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
  const made = commentOn(one);
  await db.ledger.commentCreate(made);
  const there = await db.ledger.commentCreate(commentOn(other, { comment_id: made.comment_id, body: 'There' }));
  expect(there.comments).toMatchObject([{ id: made.comment_id, body: 'There' }]);
  expect((await listComments(db, one)).comments).toMatchObject([{ body: 'Why?' }]);
});

test.each([
  { values: { body: '' }, argument: 'body' },
  { values: { body: null }, argument: 'body' },
  { values: { body: ' \u3000\n\u0085' }, argument: 'body' },
  { values: { selected_text: '' }, argument: 'selected_text' },
  { values: { selected_text: null }, argument: 'selected_text' },
  { values: { anchor_from: -1 }, argument: 'anchor_to' },
  { values: { anchor_from: 6 }, argument: 'anchor_to' },
  { values: { anchor_to: null as unknown as number }, argument: 'anchor_to' },
  { values: { comment_id: null }, argument: 'id' },
])('$values is refused', async ({ values, argument }) => {
  const cast = await makePlan(db, 'a');
  const create = () => db.ledger.commentCreate({ ...commentOn(cast), ...values });
  const details = { argument };
  await expectRefusal(db, cast.task, create, { code: 'validation_error', operation: 'create_comment', details });
  if (!('body' in values)) return;
  const made = commentOn(cast);
  await db.ledger.commentCreate(made);
  const { principal, task_id, plan_id, comment_id } = made;
  const update = () =>
    db.ledger.commentUpdate({
      principal,
      task_id,
      plan_id,
      comment_id,
      expected_version: 1,
      body: values.body ?? null,
    });
  await expectRefusal(db, cast.task, update, { code: 'validation_error', operation: 'update_comment', details });
});

const kib = 1024;

test('limits count bytes: exactly the limit is taken, one byte more is not', async () => {
  const cast = await makePlan(db, 'a');
  const body = `${canary}${'é'.repeat((64 * kib - canary.length) / 2)}`;
  const selected_text = `${canary}${'é'.repeat((256 * kib - canary.length) / 2)}`;
  const taken = await db.ledger.commentCreate(commentOn(cast, { body, selected_text }));
  expect(taken.comments).toMatchObject([{ body, selected_text }]);
  const over = { content_bytes: 64 * kib + 1, limit_bytes: 64 * kib };
  const tooLong = () => db.ledger.commentCreate(commentOn(cast, { body: `${body}x` }));
  const operation = 'create_comment';
  await expectRefusal(db, cast.task, tooLong, { code: 'comment_body_too_large', operation, details: over });
  const edit = () =>
    db.ledger.commentUpdate({
      ...{ principal: cast.user, task_id: cast.task, plan_id: cast.created.plan_id },
      ...{ comment_id: taken.comments[0]?.id ?? '', expected_version: 1, body: `${body}x` },
    });
  await expectRefusal(db, cast.task, edit, {
    ...{ code: 'comment_body_too_large', operation: 'update_comment', details: over },
  });
  const tooMuch = () => db.ledger.commentCreate(commentOn(cast, { selected_text: `${selected_text}x` }));
  await expectRefusal(db, cast.task, tooMuch, {
    code: 'comment_selection_too_large',
    operation,
    details: { content_bytes: 256 * kib + 1, limit_bytes: 256 * kib },
  });
});

test('a plan has at most 1,048,576 bytes of comments: an edit counts too, a deletion makes room', async () => {
  const cast = await makePlan(db, 'a');
  const big = { body: 'b'.repeat(64 * kib), selected_text: 's'.repeat(192 * kib) };
  const ids: string[] = [];
  for (let n = 0; n < 4; n += 1) {
    const one = commentOn(cast, n < 3 ? big : { ...big, body: 'b'.repeat(64 * kib - 1) });
    ids.push(one.comment_id);
    await db.ledger.commentCreate(one);
  }
  const by = { principal: cast.user, task_id: cast.task, plan_id: cast.created.plan_id };
  const last = { ...by, comment_id: ids[3] ?? '' };
  const create = () => db.ledger.commentCreate(commentOn(cast));
  const details = { comments: 5, limit_comments: 100, content_bytes: 1024 * kib + 7, limit_bytes: 1024 * kib };
  await expectRefusal(db, cast.task, create, { code: 'comment_limit_exceeded', operation: 'create_comment', details });
  expect(await db.ledger.commentUpdate({ ...last, body: big.body, expected_version: 1 })).toMatchObject({
    revision: 5,
  });
  await db.ledger.commentUpdate({ ...by, comment_id: ids[0] ?? '', body: 'short', expected_version: 1 });
  await db.ledger.commentCreate(commentOn(cast));
  const edit = () => db.ledger.commentUpdate({ ...by, comment_id: ids[0] ?? '', body: big.body, expected_version: 2 });
  await expectRefusal(db, cast.task, edit, { code: 'comment_limit_exceeded', operation: 'update_comment' });
  await db.ledger.commentDelete({ ...last, expected_version: 2 });
  await db.ledger.commentUpdate({ ...by, comment_id: ids[0] ?? '', body: big.body, expected_version: 2 });
});

test('a plan has at most 100 comments, and more that were imported can be deleted one by one', async () => {
  const cast = await makePlan(db, 'a');
  const ids = Array.from({ length: 100 }, () => randomUUID());
  await Promise.all(ids.map((comment_id) => db.ledger.commentCreate(commentOn(cast, { comment_id }))));
  const create = () => db.ledger.commentCreate(commentOn(cast));
  await expectRefusal(db, cast.task, create, { code: 'comment_limit_exceeded', operation: 'create_comment' });
  await db.admin`insert into planledger.plan_comment_ids (task_id, id) select ${cast.task}, gen_random_uuid() from generate_series(1, 5)`;
  await db.admin`
    insert into planledger.plan_comments
    select i.task_id, i.id, ${cast.created.plan_id}, 'imported', 'x', 0, 1, 1, now(), now()
    from planledger.plan_comment_ids i
    where i.task_id = ${cast.task} and i.id not in (select c.id from planledger.plan_comments c where c.task_id = i.task_id)`;
  const by = { principal: cast.user, task_id: cast.task, plan_id: cast.created.plan_id };
  for (const comment_id of ids.slice(0, 6)) await db.ledger.commentDelete({ ...by, comment_id, expected_version: 1 });
  const full = await db.ledger.commentCreate(commentOn(cast));
  expect(full.comments).toHaveLength(100);
  expect(full.revision).toBe(107);
});
