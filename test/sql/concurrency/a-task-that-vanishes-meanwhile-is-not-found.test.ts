import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PlanledgerError } from '../../../src/ledger/errors.ts';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { useDatabase } from '../../support/fixture.ts';
import { argumentsOf, type Call } from '../calls.ts';
import { checkRefusal, failure } from '../observe.ts';
import { makePlan, type Planned } from '../plans.ts';
import { closeSessions, openSession, type Session, until } from '../sessions.ts';

const db = useDatabase();
let deleter: Session;
let caller: Session;

beforeAll(async () => {
  deleter = await openSession(db, 'deleter');
  caller = await openSession(db, 'caller');
});
afterAll(() => closeSessions(deleter, caller));

/** The failure of a call that waits while the task is deleted. */
async function whileDeleted(cast: Planned, call: () => Promise<unknown>): Promise<PlanledgerError> {
  await deleter.begin();
  await deleter.ledger.taskDelete({ principal: cast.user, task_id: cast.task });
  const waiting = failure(call());
  await until('the call waiting for the deletion', async () => {
    const [row] = await db.admin`
      select from pg_stat_activity where pid = ${caller.pid} and ${deleter.pid} = any(pg_blocking_pids(pid))`;
    return row;
  });
  await deleter.commit();
  return waiting;
}

const writes = [
  'commentCreate',
  'commentUpdate',
  'commentDelete',
  'planCreate',
  'planReplace',
  'planAppend',
  'planEdit',
  'planRestore',
  'planRevert',
  'planDelete',
  'planMarkImplementationStarted',
  'taskArchive',
  'taskDelete',
] as const satisfies (keyof Ledger)[];

describe.each([{ plan: 'with a plan' }, { plan: 'without a plan' }])('a task $plan', ({ plan }) => {
  const possible = writes.filter((method) => plan === 'with a plan' || method !== 'planMarkImplementationStarted');
  test.each(possible)('%s', async (method) => {
    const cast = await makePlan(db, 'a');
    if (plan === 'without a plan') await db.ledger.planDelete({ principal: cast.agent, task_id: cast.task });
    const values = argumentsOf(method, cast);
    const error = await whileDeleted(cast, () => (caller.ledger[method] as unknown as Call)(values));
    checkRefusal(error, cast.task, { code: 'task_not_found', operation: signatures[method].operation });
    const left = await db.admin`select from planledger.plan_segments where task_id = ${cast.task}`;
    expect(left).toHaveLength(0);
  });
});

test('a task created below one that is being deleted', async () => {
  const cast = await makePlan(db, 'a');
  const task_id = `${cast.task}-below`;
  const below = { principal: cast.user, task_id, title: 'Below', parent_task_id: cast.task };
  const error = await whileDeleted(cast, () => caller.ledger.taskCreate(below));
  expect(error).toMatchObject({ code: 'task_not_found', operation: 'create_task', cause: { code: 'TP404' } });
  expect(await db.admin`select from planledger.tasks where id = ${task_id}`).toHaveLength(0);
});

test('afterwards the task is as unreachable as any other that does not exist', async () => {
  const cast = await makePlan(db, 'a');
  await db.ledger.taskDelete({ principal: cast.user, task_id: cast.task });
  for (const principal of [cast.user, cast.service, cast.agent]) {
    expect((await failure(db.ledger.planGet({ principal, task_id: cast.task }))).code).toBe('task_unreachable');
  }
});
