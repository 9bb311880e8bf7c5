import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { PlanledgerError } from '../../src/ledger/errors.ts';
import { createLedger, withSignal } from '../../src/ledger/ledger.ts';
import { connect } from '../../src/postgres/connect.ts';
import { holdPlanLock, untilWaiting } from '../chaos/support/locks.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();

async function makePlan() {
  const { user, task } = await makeCast(db);
  await db.ledger.planCreate({ principal: user, task_id: task, content: 'start' });
  return { principal: user, task_id: task };
}

/** A facade over three connections, which can be seen waiting by the name of the test. */
async function makeLedger(applicationName: string) {
  const sql = await connect(db.url, { max: 3, applicationName });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return createLedger(sql);
}

const letters = 'abcdefghijkl'.split('');

async function fragmentsOf(plan: { principal: string; task_id: string }): Promise<string[] | undefined> {
  return (await db.ledger.planGet(plan))?.content.split('\n\n').sort();
}

async function refusalOf(call: Promise<unknown>): Promise<PlanledgerError> {
  const error = await call.then(
    () => new Error('was not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof PlanledgerError) return error;
  throw error;
}

test('twelve writes that wait for one task hold two connections of three, and another task is written meanwhile', async () => {
  const [busy, other] = [await makePlan(), await makePlan()];
  const ledger = await makeLedger('turns');
  const release = await holdPlanLock(db.admin, busy.task_id);
  const waiting = letters.map((fragment) => ledger.planAppend({ ...busy, fragment }));
  await untilWaiting(db.admin, 'turns', 2);
  await ledger.planAppend({ ...other, fragment: 'written' });
  expect(await fragmentsOf(other)).toEqual(['start', 'written']);
  await untilWaiting(db.admin, 'turns', 2);
  await release();
  await Promise.all(waiting);
  expect(await fragmentsOf(busy)).toEqual([...letters, 'start']);
});

test('a lock that does not come free is told to every waiting write, after two waits at most', async () => {
  const plan = await makePlan();
  const ledger = await makeLedger('turns bounded');
  await createLedger(db.admin).settingsChange({ lock_wait: '400 milliseconds' });
  onTestFinished(async () => void (await createLedger(db.admin).settingsChange({ lock_wait: '15 seconds' })));
  const release = await holdPlanLock(db.admin, plan.task_id);
  const began = performance.now();
  const refusals = await Promise.all([
    ...letters.map((fragment) => refusalOf(ledger.planAppend({ ...plan, fragment }))),
    refusalOf(ledger.planReplace({ ...plan, content: 'new', expected_version: 'any' })),
  ]);
  expect(performance.now() - began).toBeLessThan(2_000); // 2 × 400 ms, not 7 × 400 ms
  for (const { code, writeApplied, taskId, nextAction } of refusals) {
    expect({ code, writeApplied, taskId }).toEqual({ code: 'plan_busy', writeApplied: false, taskId: plan.task_id });
    expect(nextAction).not.toBe('');
  }
  expect(refusals.map(({ operation }) => operation)).toEqual([...letters.map(() => 'append'), 'replace']);
  await release();
  await ledger.planAppend({ ...plan, fragment: 'after' });
  expect(await fragmentsOf(plan)).toEqual(['after', 'start']);
});

test('a write whose caller goes while it waits for the lock or for its turn writes nothing', async () => {
  const plan = await makePlan();
  const ledger = await makeLedger('turns aborted');
  const release = await holdPlanLock(db.admin, plan.task_id);
  const [atLock, inLine] = [new AbortController(), new AbortController()];
  const first = refusalOf(withSignal(ledger, atLock.signal).planAppend({ ...plan, fragment: 'at the lock' }));
  const second = ledger.planAppend({ ...plan, fragment: 'kept' });
  await untilWaiting(db.admin, 'turns aborted', 2);
  const third = refusalOf(withSignal(ledger, inLine.signal).planAppend({ ...plan, fragment: 'in line' }));
  const fourth = ledger.planAppend({ ...plan, fragment: 'kept too' });
  inLine.abort();
  atLock.abort();
  for (const { code, writeApplied, operation, taskId } of await Promise.all([first, third])) {
    expect({ code, writeApplied, operation, taskId }).toEqual({
      code: 'database_unavailable',
      writeApplied: false,
      operation: 'append',
      taskId: plan.task_id,
    });
  }
  await untilWaiting(db.admin, 'turns aborted', 2); // the fourth took the place of the first
  await release();
  await Promise.all([second, fourth]);
  await sleep(100);
  expect(await fragmentsOf(plan)).toEqual(['kept', 'kept too', 'start']);
});

test('a call whose caller had gone before it began is not made', async () => {
  const plan = await makePlan();
  const ledger = withSignal(await makeLedger('turns late'), AbortSignal.abort());
  expect(await refusalOf(ledger.planAppend({ ...plan, fragment: 'x' }))).toMatchObject({
    code: 'database_unavailable',
    writeApplied: false,
  });
  expect(await fragmentsOf(plan)).toEqual(['start']);
});

test('a cancellation that meets another call of the process costs that call nothing; one of an administrator is told', async () => {
  const [aborted, met] = [await makePlan(), await makePlan()];
  const ledger = await makeLedger('turns met');
  const releases = [await holdPlanLock(db.admin, aborted.task_id), await holdPlanLock(db.admin, met.task_id)];
  const told = ledger.planAppend({ ...met, fragment: 'told' });
  const [pid = 0] = await untilWaiting(db.admin, 'turns met', 1);
  const refusal = refusalOf(told);
  await db.admin`select pg_cancel_backend(${pid})`;
  expect(await refusal).toMatchObject({ code: 'database_unavailable', writeApplied: false });

  const call = ledger.planAppend({ ...met, fragment: 'made again' });
  const [metPid = 0] = await untilWaiting(db.admin, 'turns met', 1);
  const caller = new AbortController();
  const gone = refusalOf(withSignal(ledger, caller.signal).planAppend({ ...aborted, fragment: 'gone' }));
  await untilWaiting(db.admin, 'turns met', 2);
  caller.abort();
  await gone;
  await db.admin`select pg_cancel_backend(${metPid})`;
  await untilWaiting(db.admin, 'turns met', 1);
  for (const release of releases) await release();
  await call;
  expect(await fragmentsOf(met)).toEqual(['made again', 'start']);
  expect(await fragmentsOf(aborted)).toEqual(['start']);
});

test('a call is never sent behind another that is under way on the same connection', async () => {
  const [busy, other] = [await makePlan(), await makePlan()];
  const sql = await connect(db.url, { max: 2, applicationName: 'no pipeline' });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const ledger = createLedger(sql);
  const warm = () => Promise.all([busy, other].map((plan) => ledger.planAppend({ ...plan, fragment: 'warm' })));
  await warm(); // connects both, and on each the statement is prepared: only then would the driver send one behind it
  await warm();
  const release = await holdPlanLock(db.admin, busy.task_id);
  const waiting = ledger.planAppend({ ...busy, fragment: 'waits' });
  await untilWaiting(db.admin, 'no pipeline', 1);
  await Promise.all(letters.map((fragment) => ledger.planAppend({ ...other, fragment })));
  expect(await fragmentsOf(other)).toEqual([...letters, 'start', 'warm', 'warm']);
  await release();
  await waiting;
});
