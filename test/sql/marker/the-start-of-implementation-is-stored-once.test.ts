import { expect, test } from 'vitest';
import type { PlanMarkImplementationStartedRow } from '../../../src/ledger/generated.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { expectRefusal, stored } from '../observe.ts';
import { makePlan, read } from '../plans.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();

test('the first call stores time, session and actor; later calls, whoever makes them, return it unchanged', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const [before] = await db.ledger.revisionList(by);
  const first = await db.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session });
  expect(first).toEqual({
    plan_id: cast.created.plan_id,
    implementation_started_at: expect.any(Date),
    implementation_started_session_id: cast.session,
    implementation_started_by: 'agent',
  });
  const marked = await stored(db, cast.task);
  for (const principal of [cast.user, cast.agent, cast.service]) {
    expect(await db.ledger.planMarkImplementationStarted({ ...by, principal, session_id: cast.session })).toEqual(
      first,
    );
  }
  expect(await stored(db, cast.task)).toEqual(marked);
  expect(await read(db, cast)).toMatchObject({ ...without(first), version: cast.created.version });
  expect(await db.ledger.revisionList(by)).toEqual([before]);
});

test('the session must belong to the task, and there must be a plan', async () => {
  const [cast, other] = [await makePlan(db, 'a'), await makeCast(db)];
  const mark = (session_id: string | null) =>
    db.ledger.planMarkImplementationStarted({ principal: cast.agent, task_id: cast.task, session_id });
  for (const session of [other.session, 'none', '', null, 'x'.repeat(201)]) {
    await expectRefusal(db, cast.task, () => mark(session), {
      code: 'validation_error',
      operation: 'mark_implementation_started',
      details: { argument: 'session_id' },
    });
  }
  await db.ledger.planDelete({ principal: cast.agent, task_id: cast.task });
  await expectRefusal(db, cast.task, () => mark(cast.session), {
    code: 'plan_not_found',
    operation: 'mark_implementation_started',
  });
});

test('no plan write changes the marker, and marking neither waits for the plan lock nor disturbs who holds it', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const lock = await openSession(db, 'lock');
  const holder = await db.admin.reserve();
  await holder`begin`;
  await holder`select pg_advisory_xact_lock(planledger.lock_key('plan', ${cast.task}))`;
  await lock.sql`set statement_timeout = '3s'`;
  const marker = await lock.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session });
  await holder`rollback`;
  holder.release();
  await closeSessions(lock);
  const { version } = await db.ledger.planAppend({ ...by, fragment: 'b' });
  await db.ledger.planEdit({ ...by, expected_version: version, old_text: 'b', new_text: 'c' });
  const revert = { principal: cast.user, task_id: cast.task, revision_id: cast.created.revision_id };
  await db.ledger.planRevert(revert);
  expect(await read(db, cast)).toMatchObject(without(marker));
});

function without({ plan_id: _, ...marker }: PlanMarkImplementationStartedRow) {
  return marker;
}
