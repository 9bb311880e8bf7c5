import { afterAll, beforeAll, expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { checkRefusal, failure } from '../observe.ts';
import { makePlan, type Planned } from '../plans.ts';
import { closeSessions, openSession, type Session, waitsFor } from '../sessions.ts';
import { commentOn, listComments } from './comments.ts';

const db = useDatabase();
let one: Session;
let two: Session;

beforeAll(async () => {
  one = await openSession(db, 'one');
  two = await openSession(db, 'two');
});
afterAll(() => closeSessions(one, two));

const by = ({ user, task }: Planned) => ({ principal: user, task_id: task });

test('while a plan write is not committed comments change, and while a comment is not the plan does', async () => {
  const cast = await makePlan(db, 'a');
  await one.begin();
  await one.ledger.planAppend({ ...by(cast), fragment: 'b' });
  expect(await two.ledger.commentCreate(commentOn(cast))).toMatchObject({ revision: 1 });
  await one.commit();
  await one.begin();
  await one.ledger.commentCreate(commentOn(cast));
  await two.ledger.planAppend({ ...by(cast), fragment: 'c' });
  expect(await listComments(db, cast)).toMatchObject({ revision: 1 });
  await one.commit();
  expect(await listComments(db, cast)).toMatchObject({ revision: 2 });
});

test('of two edits of one version the second is refused, and the revision rises once', async () => {
  const cast = await makePlan(db, 'a');
  const { comment_id, plan_id } = commentOn(cast);
  await db.ledger.commentCreate(commentOn(cast, { comment_id }));
  const edit = { ...by(cast), plan_id, comment_id, expected_version: 1 };
  await one.begin();
  await one.ledger.commentUpdate({ ...edit, body: 'first' });
  const second = failure(two.ledger.commentUpdate({ ...edit, body: 'second' }));
  await waitsFor(db, two, one, cast.task);
  await one.commit();
  checkRefusal(await second, cast.task, { code: 'plan_comments_changed', operation: 'update_comment' });
  expect(await listComments(db, cast)).toMatchObject({ revision: 2, comments: [{ body: 'first', version: 2 }] });
});

test('two creations with one id: the second is answered with the first', async () => {
  const cast = await makePlan(db, 'a');
  const made = commentOn(cast);
  await one.begin();
  await one.ledger.commentCreate(made);
  const second = two.ledger.commentCreate(made);
  await waitsFor(db, two, one, cast.task);
  await one.commit();
  expect(await second).toMatchObject({ revision: 1, comments: [{ id: made.comment_id }] });
});

test('a comment that waited for the deletion of its plan is refused', async () => {
  const cast = await makePlan(db, 'a');
  await one.begin();
  await one.ledger.planDelete(by(cast));
  await one.ledger.planCreate({ ...by(cast), content: 'b' });
  const waiting = failure(two.ledger.commentCreate(commentOn(cast)));
  await waitsFor(db, two, one, cast.task);
  await one.commit();
  checkRefusal(await waiting, cast.task, { code: 'plan_comments_changed', operation: 'create_comment' });
  expect(await listComments(db, cast)).toMatchObject({ revision: 0, comments: [] });
});

test('the deletion of a plan waits for a comment and takes it along', async () => {
  const cast = await makePlan(db, 'a');
  await one.begin();
  await one.ledger.commentCreate(commentOn(cast));
  const deletion = two.ledger.planDelete(by(cast));
  await waitsFor(db, two, one, cast.task);
  await one.commit();
  await deletion;
  expect(await listComments(db, cast)).toEqual({ task_id: cast.task, plan_id: null, revision: 0, comments: [] });
});

test('an admission lease makes a comment wait, and the end of its connection lets it through', async () => {
  const cast = await makePlan(db, 'a');
  const holder = await openSession(db, 'holder');
  await holder.begin();
  await holder.sql`set role none`.catch(() => {});
  await holder.sql`select pg_advisory_xact_lock(planledger.lock_key('lease', ${cast.task}))`;
  const waiting = two.ledger.commentCreate(commentOn(cast));
  await waitsFor(db, two, holder, cast.task);
  await db.admin`select pg_terminate_backend(${holder.pid})`;
  expect(await waiting).toMatchObject({ revision: 1 });
  await closeSessions(holder);
});

test('a writer under an old snapshot is refused at once', async () => {
  const cast = await makePlan(db, 'a');
  for (const level of ['repeatable read', 'serializable']) {
    for (const call of ['commentCreate', 'commentUpdate', 'commentDelete'] as const) {
      await one.begin(level);
      const values = { ...commentOn(cast), expected_version: 1 };
      const error = await failure((one.ledger[call] as (values: unknown) => Promise<unknown>)(values));
      await one.rollback();
      expect(error.code).toBe('isolation_not_supported');
    }
  }
});
