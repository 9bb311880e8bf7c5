import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { PlanledgerError } from '../../src/ledger/errors.ts';
import { createLedger, inTransaction, withSignal } from '../../src/ledger/ledger.ts';
import { connect, openPool } from '../../src/postgres/connect.ts';
import { openFaultyNetwork } from '../chaos/support/faulty-network.ts';
import { holdPlanLock, untilWaiting } from '../chaos/support/locks.ts';
import { failure } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();

async function makePlan() {
  const { user, task } = await makeCast(db);
  await db.ledger.planCreate({ principal: user, task_id: task, content: 'start' });
  return { principal: user, task_id: task };
}

/** A facade over `max` connections, which can be seen waiting by that name. */
async function makeLedger(applicationName: string, max: number) {
  const sql = await connect(db.url, { max, applicationName });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return createLedger(sql);
}

/** What a cancelled append fails with. */
const cancelled = ({ task_id }: { task_id: string }) => ({
  code: 'database_unavailable',
  message: 'The call was cancelled. Nothing was written.',
  writeApplied: false,
  operation: 'append',
  taskId: task_id,
});

const letters = 'abcdefghijkl'.split('');

async function fragmentsOf(plan: { principal: string; task_id: string }): Promise<string[] | undefined> {
  return (await db.ledger.planGet(plan))?.content.split('\n\n').sort();
}

test('a write whose caller goes while it waits for the lock or for a connection writes nothing', async () => {
  const plan = await makePlan();
  const ledger = await makeLedger('aborted', 2);
  const release = await holdPlanLock(db.admin, plan.task_id);
  const [atLock, inLine] = [new AbortController(), new AbortController()];
  const first = failure(withSignal(ledger, atLock.signal).planAppend({ ...plan, fragment: 'at the lock' }));
  const second = ledger.planAppend({ ...plan, fragment: 'kept' });
  await untilWaiting(db.admin, 'aborted', 2);
  const third = failure(withSignal(ledger, inLine.signal).planAppend({ ...plan, fragment: 'in line' }));
  const fourth = ledger.planAppend({ ...plan, fragment: 'kept too' });
  inLine.abort();
  expect(await third).toMatchObject(cancelled(plan));
  atLock.abort();
  expect(await first).toMatchObject(cancelled(plan));
  await untilWaiting(db.admin, 'aborted', 2); // the fourth took the place of the first
  await release();
  await Promise.all([second, fourth]);
  expect(await fragmentsOf(plan)).toEqual(['kept', 'kept too', 'start']);
});

test('a call whose caller had gone before it began is not made', async () => {
  const plan = await makePlan();
  const ledger = withSignal(await makeLedger('gone', 1), AbortSignal.abort());
  expect(await failure(ledger.planAppend({ ...plan, fragment: 'x' }))).toMatchObject(cancelled(plan));
  expect(await fragmentsOf(plan)).toEqual(['start']);
});

test.each(['at once', 'in the next turn'])('a call cancelled %s costs its connection nothing', async (when) => {
  const plan = await makePlan();
  const sql = openPool(db.url, { max: 1, applicationName: 'early' });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const ledger = createLedger(sql);
  const release = await holdPlanLock(db.admin, plan.task_id);
  for (let round = 0; round < 4; round += 1) {
    // The first round connects, the second prepares the statement, the others find both done.
    const caller = new AbortController();
    const call = failure(ledger.planAppend({ ...plan, fragment: 'x' }, { signal: caller.signal }));
    if (when !== 'at once') await new Promise(setImmediate);
    caller.abort();
    expect(await call).toMatchObject(cancelled(plan));
    expect(await ledger.contentMaxBytes({})).toEqual({ content_max_bytes: 262_144 });
  }
  await release();
  expect(await fragmentsOf(plan)).toEqual(['start']);
});

test('a call cancelled behind another of its transaction fails that transaction, which then ends', async () => {
  const plan = await makePlan();
  const sql = await connect(db.url, { max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const caller = new AbortController();
  const transaction = sql.begin(async (tx) => {
    const ledger = createLedger(tx);
    const slow = tx`select pg_sleep(0.3)`.execute();
    const call = failure(ledger.planAppend({ ...plan, fragment: 'x' }, { signal: caller.signal }));
    const release = await holdPlanLock(db.admin, plan.task_id);
    caller.abort();
    await slow;
    expect(await call).toMatchObject(cancelled(plan));
    await release();
    await ledger.planGet(plan);
  });
  await expect(transaction).rejects.toMatchObject({ cause: { code: '25P02' } }); // in a failed transaction
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  expect(await fragmentsOf(plan)).toEqual(['start']);
});

test('a cancellation that comes too late costs the next call of its connection nothing', async () => {
  const plan = await makePlan();
  const ledger = await makeLedger('late', 1);
  let late = 0;
  for (let round = 0; round < 60; round += 1) {
    // Cancelled about when it ends, so that the server is told while the next call is there.
    const caller = new AbortController();
    const call = ledger.planAppend({ ...plan, fragment: `a${round}` }, { signal: caller.signal });
    const next = ledger.planAppend({ ...plan, fragment: `b${round}` });
    setTimeout(() => caller.abort(), (round % 12) / 4);
    await call.then(
      () => {
        late += 1;
      },
      (error: PlanledgerError) => expect(error).toMatchObject(cancelled(plan)),
    );
    await next;
  }
  expect(late).toBeGreaterThan(0);
  const found = (await fragmentsOf(plan)) ?? [];
  expect(new Set(found).size).toBe(found.length); // none twice
  expect(found.filter((one) => one.startsWith('b'))).toHaveLength(60);
  expect(found.filter((one) => one.startsWith('a'))).toHaveLength(late);
});

test('a call that an administrator or a time limit ends is told so, though others are cancelled meanwhile', async () => {
  const [held, other] = [await makePlan(), await makePlan()];
  const sql = await connect(db.url, { max: 2, applicationName: 'ended' });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const ledger = createLedger(sql);
  const releases = [await holdPlanLock(db.admin, held.task_id), await holdPlanLock(db.admin, other.task_id)];
  const call = failure(ledger.planAppend({ ...held, fragment: 'ended' }));
  const [pid = 0] = await untilWaiting(db.admin, 'ended', 1);
  const caller = new AbortController();
  const gone = failure(ledger.planAppend({ ...other, fragment: 'gone' }, { signal: caller.signal }));
  await untilWaiting(db.admin, 'ended', 2);
  caller.abort();
  await gone;
  await db.admin`select pg_cancel_backend(${pid})`;
  expect(await call).toMatchObject(cancelled(held));
  for (const release of releases) await release();
  expect(await fragmentsOf(held)).toEqual(['start']);
});

test('a cancellation that the network swallows costs later calls three attempts at most, and later nothing', async () => {
  const plan = await makePlan();
  const network = await openFaultyNetwork(db.url);
  onTestFinished(() => network.close());
  const lost = network.loseCancellations();
  const sql = openPool(network.url, { max: 1, applicationName: 'swallowed' });
  onTestFinished(() => sql.end({ timeout: 1 }));
  await sql`select set_config('statement_timeout', '600', false)`;
  const ledger = createLedger(sql);
  const release = await holdPlanLock(db.admin, plan.task_id);
  const caller = new AbortController();
  const call = failure(ledger.planAppend({ ...plan, fragment: 'x' }, { signal: caller.signal }));
  await untilWaiting(db.admin, 'swallowed', 1);
  caller.abort();
  expect(await call).toMatchObject(cancelled(plan)); // by its time limit
  expect(lost()).toBe(1);

  const took = async () => {
    const started = performance.now();
    expect(await failure(ledger.planAppend({ ...plan, fragment: 'y' }))).toMatchObject(cancelled(plan));
    return (performance.now() - started) / 600;
  };
  expect(Math.floor(await took())).toBe(3);
  await sleep(5_500);
  expect(Math.floor(await took())).toBe(1);
  await release();
  expect(await fragmentsOf(plan)).toEqual(['start']);
});

test('a call is never sent behind another that is under way on the same connection', async () => {
  const [busy, other] = [await makePlan(), await makePlan()];
  const ledger = await makeLedger('alone', 2);
  const warm = () => Promise.all([busy, other].map((plan) => ledger.planAppend({ ...plan, fragment: 'warm' })));
  await warm(); // connects both, and on each the statement is prepared: only then would the driver send one behind it
  await warm();
  const release = await holdPlanLock(db.admin, busy.task_id);
  const waiting = ledger.planAppend({ ...busy, fragment: 'waits' });
  await untilWaiting(db.admin, 'alone', 1);
  await Promise.all(letters.map((fragment) => ledger.planAppend({ ...other, fragment })));
  expect(await fragmentsOf(other)).toEqual([...letters, 'start', 'warm', 'warm']);
  await release();
  await waiting;
});

test('a query that fails behind a row of its answer leaves nothing before the answer of the next call', async () => {
  const plan = await makePlan();
  const sql = await connect(db.url, { max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const ledger = createLedger(sql);
  const calls = [
    async () => expect(await ledger.planGet(plan)).toMatchObject({ content: 'start' }),
    async () => expect(await ledger.revisionList(plan)).toMatchObject([{ revision_number: 1 }]),
    async () => expect(await ledger.planAppend({ ...plan, fragment: 'x' })).toMatchObject({ outcome: 'appended' }),
  ];
  for (const call of calls) {
    // As where a cancellation comes between the row of an answer and its end.
    await expect(sql`select 1 / (2 - n) from generate_series(1, 3) as n`).rejects.toMatchObject({ code: '22012' });
    await call();
  }
});

test('a transaction that waits for a connection leaves the queue with its signal, and is never begun', async () => {
  const sql = await connect(db.url, { max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const work = Promise.withResolvers<void>();
  const first = inTransaction(sql, new AbortController().signal, () => work.promise);
  const gone = new AbortController();
  let begun = false;
  const second = inTransaction(sql, gone.signal, async () => {
    begun = true;
  });
  const reason = new Error('the client left');
  gone.abort(reason);
  await expect(second).rejects.toBe(reason);
  work.resolve();
  await first;
  await inTransaction(sql, new AbortController().signal, async ({ ledger }) => void (await ledger.errorCatalog({})));
  expect(begun).toBe(false);
});
