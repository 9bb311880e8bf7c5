import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest, expectRefusal } from '../observe.ts';
import { history, makePlan, read } from '../plans.ts';

const db = useDatabase();

test('the plan goes, its revisions stay as they were, and one event says so', async () => {
  const cast = await makePlan(db, 'a', 'The title');
  const by = { principal: cast.agent, task_id: cast.task };
  const before = await db.ledger.revisionList(by);
  const deleted = await db.ledger.planDelete(by);
  expect(deleted).toEqual({ task_id: cast.task, plan_id: cast.created.plan_id, replayed: false });
  expect(await db.ledger.planGet(by)).toBeNull();
  expect(await db.ledger.revisionList(by)).toEqual(before);
  expect(await history(db, cast)).toEqual(['a']);
  const events = await db.admin`
    select kind, plan_id from planledger.events where task_id = ${cast.task} and kind like 'plan.%' order by id`;
  expect(events).toEqual([
    { kind: 'plan.created', plan_id: cast.created.plan_id },
    { kind: 'plan.deleted', plan_id: cast.created.plan_id },
  ]);
  await expectRefusal(db, cast.task, () => db.ledger.planDelete(by), { code: 'plan_not_found', operation: 'delete' });
});

test('a plan created again has another id, version and title, no marker, and the next number', async () => {
  const cast = await makePlan(db, 'a', 'Old title');
  const by = { principal: cast.agent, task_id: cast.task };
  await db.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session });
  await db.ledger.planDelete(by);
  const again = await db.ledger.planCreate({ ...by, content: 'a' });
  expect(again).toMatchObject({ outcome: 'created', revision_number: 2, coalesced: false, title: 'Plan' });
  expect(again.plan_id).not.toBe(cast.created.plan_id);
  expect(again.version).not.toBe(cast.created.version);
  expect(await read(db, cast)).toMatchObject({ id: again.plan_id, implementation_started_at: null });
  expect(await history(db, cast)).toEqual(['a', 'a']);
  await expectHeadIsLatest(db, cast.task);
});

test('deleting a task removes plan, history, segments, requests and sessions; tasks below keep it', async () => {
  const cast = await makePlan(db, 'a');
  const user = { principal: cast.user, task_id: cast.task };
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b', request_id: 'r' });
  const below = `${cast.task}-below`;
  await db.ledger.taskCreate({ ...user, task_id: below, title: 'Below', parent_task_id: cast.task });
  await expectRefusal(db, cast.task, () => db.ledger.taskDelete(user), {
    code: 'validation_error',
    operation: 'delete_task',
  });
  await db.ledger.taskDelete({ ...user, task_id: below });
  expect(await db.ledger.taskDelete(user)).toEqual({ id: cast.task });
  const [row] = await db.admin`
    select (select count(*)::int from planledger.plans where task_id = ${cast.task}) as plans,
      (select count(*)::int from planledger.plan_revisions where task_id = ${cast.task}) as revisions,
      (select count(*)::int from planledger.plan_segments where task_id = ${cast.task}) as segments,
      (select count(*)::int from planledger.plan_requests where task_id = ${cast.task}) as requests,
      (select count(*)::int from planledger.task_sessions where task_id = ${cast.task}) as sessions`;
  expect(row).toEqual({ plans: 0, revisions: 0, segments: 0, requests: 0, sessions: 0 });
});

test('archiving keeps the plan readable and writable, and repeating it changes nothing', async () => {
  const cast = await makePlan(db, 'a');
  const user = { principal: cast.user, task_id: cast.task };
  const first = await db.ledger.taskArchive(user);
  expect(await db.ledger.taskArchive(user)).toEqual(first);
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
  expect((await read(db, cast)).content).toBe('a\n\nb');
});

test('a task without a plan answers "no plan" and is not an error', async () => {
  const cast = await makeCast(db);
  expect(await db.ledger.planGet({ principal: cast.agent, task_id: cast.task })).toBeNull();
});
