import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();
const worker = useWorker(db);

async function setting(transport: string | null = 'webhook') {
  const made = await makeSession(db, transport, 'WAITING_FOR_INPUT');
  const reserve = async (receipt_id: string) =>
    (await worker.ledger.receiptReserve({ task_id: made.task, receipt_id, holder: 'one' })).lease_token;
  const mark = (token: string | null) => worker.ledger.receiptMarkAttempted({ task_id: made.task, token });
  return { ...made, reserve, mark };
}

const reconcile = async () => {
  const { released, woken, cleared } = await worker.ledger.receiptsReconcile({});
  return { released: Number(released), woken: Number(woken), cleared: Number(cleared) };
};

test('a reservation that ended is pending again with a job, and its attempt counted', async () => {
  const { send, reserve, expireReceipts, receipt, jobs, session, task } = await setting();
  const id = await send();
  const token = await reserve(id);
  await db.admin`select planledger_jobs.remove_job(${`receipt ${id}`})`;
  await expireReceipts();
  expect(await reconcile()).toMatchObject({ released: 1, cleared: 0 });
  expect(await receipt(id)).toMatchObject({
    ...{ state: 'pending', attempts: 1, lease_holder: 'one', failure: 'The worker that had it did not come back.' },
  });
  const [job, ...more] = (await jobs()).filter(({ key }) => key === `receipt ${id}`);
  expect(more).toEqual([]);
  expect(job?.due).toBeGreaterThan(0);
  expect(job?.due).toBeLessThanOrEqual(1);
  expect(await session()).toMatchObject({ state: 'RUNNING', turn_id: id });
  expect(await failure(worker.ledger.receiptMarkAttempted({ task_id: task, token }))).toMatchObject({
    code: 'lease_lost',
  });
});

test('an entry of the queue whose reservation ended is back in its place, and the session free', async () => {
  const { queue, reserve, expireReceipts, receipt, session, on } = await setting();
  const [first, second] = [await queue('first'), await queue('second')];
  await reserve(first);
  expect((await db.ledger.queueGet(on)).entries.map(({ id }) => id)).toEqual([second]);
  await expireReceipts();
  await reconcile();
  expect(await receipt(first)).toMatchObject({ state: 'pending', dispatch_id: null });
  expect((await db.ledger.queueGet(on)).entries.map(({ id }) => id)).toEqual([first, second]);
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' });
});

test('the fifth reservation that nobody came back from is the last', async () => {
  const { send, reserve, expireReceipts, receipt, session, wait } = await setting();
  const id = await send();
  for (let n = 1; n <= 5; n += 1) {
    await wait();
    expect(await reserve(id)).not.toBeNull();
    await expireReceipts();
    await reconcile();
  }
  expect(await receipt(id)).toMatchObject({ state: 'failed', attempts: 5 });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' });
});

test('an attempt past its time is cleared, its session free, and it is never sent again', async () => {
  const { send, reserve, mark, expireReceipts, receipt, session, jobs, wait, task, queue } = await setting();
  const id = await send();
  const token = await reserve(id);
  await mark(token);
  const next = await queue('next');
  await expireReceipts();
  expect(await reconcile()).toMatchObject({ released: 0, cleared: 1 });
  expect(await receipt(id)).toMatchObject({ state: 'cleared', failure: 'The worker that sent it did not come back.' });
  expect(await session()).toMatchObject({
    ...{ state: 'WAITING_FOR_INPUT', failure: 'Whether the agent has the last prompt is not known.' },
  });
  await db.admin`select planledger_jobs.remove_job(${`receipt ${id}`})`;
  await wait();
  expect(await reconcile()).toMatchObject({ released: 0, cleared: 0 });
  const keys = (await jobs()).map(({ key }) => key);
  expect(keys).not.toContain(`receipt ${id}`);
  expect(keys).toContain(`receipt ${next}`);
  expect(await worker.ledger.receiptReserve({ task_id: task, receipt_id: id, holder: 'two' })).toMatchObject({
    outcome: 'ended',
  });
  expect(await failure(worker.ledger.receiptAcknowledge({ task_id: task, token }))).toMatchObject({
    code: 'lease_lost',
  });
});

test('a prompt that lost its job gets another, and one that has one keeps it', async () => {
  const { send, queue, jobs } = await setting();
  const id = await send();
  await db.admin`select planledger_jobs.remove_job(${`receipt ${id}`})`;
  expect(await jobs()).toEqual([]);
  expect((await reconcile()).woken).toBeGreaterThanOrEqual(1);
  await reconcile();
  expect((await jobs()).map(({ key }) => key)).toEqual([`receipt ${id}`]);
  await queue('waits its turn');
  await reconcile();
  expect((await jobs()).map(({ key }) => key)).toEqual([`receipt ${id}`]);
});

test('the lock of the job queue that a dead worker left holds nothing up: there is a new job', async () => {
  const { send, reserve, expireReceipts, jobs, task } = await setting();
  const id = await send();
  await reserve(id);
  await db.admin`
    update planledger_jobs._private_jobs set locked_at = now(), locked_by = 'dead' where key = ${`receipt ${id}`}`;
  await expireReceipts();
  await reconcile();
  expect((await jobs()).map(({ key }) => key)).toEqual([null, `receipt ${id}`]);
  const free = await db.admin`
    select from planledger_jobs.jobs where key = ${`receipt ${id}`} and locked_at is null`;
  expect(free).toHaveLength(1);
  expect(await db.admin`select from planledger.receipts where task_id = ${task} and state = 'pending'`).toHaveLength(1);
});

test('what lives is left alone', async () => {
  const { send, reserve, mark, task } = await setting();
  const id = await send();
  const token = await reserve(id);
  const reserved = await storedDelivery(db, task);
  await reconcile();
  expect(await storedDelivery(db, task)).toEqual(reserved);
  await mark(token);
  const marked = await storedDelivery(db, task);
  await reconcile();
  expect(await storedDelivery(db, task)).toEqual(marked);
});

test('a session that somebody works on is left out, and holds up no other', async () => {
  const [busy, idle] = [await setting(), await setting()];
  const [held, other] = [await busy.send(), await idle.send()];
  for (const [one, id] of [
    [busy, held],
    [idle, other],
  ] as const) {
    await one.reserve(id);
    await one.expireReceipts();
  }
  const holder = await openSession(db, 'holder');
  try {
    await holder.begin();
    await holder.ledger.sessionSetPrimary(busy.on);
    await holder.ledger.queueAutoRunSet({ ...busy.on, auto_run: false });
    await reconcile();
    expect(await busy.receipt(held)).toMatchObject({ state: 'reserved' });
    expect(await idle.receipt(other)).toMatchObject({ state: 'pending' });
    await holder.rollback();
    await reconcile();
    expect(await busy.receipt(held)).toMatchObject({ state: 'pending' });
  } finally {
    await closeSessions(holder);
  }
});

test('a transaction with an old snapshot puts nothing right', async () => {
  const call = worker.sql.begin(
    'isolation level repeatable read',
    async (sql) => await sql`select * from planledger.receipts_reconcile()`,
  );
  await expect(call).rejects.toMatchObject({ code: 'TP409' });
});

test('the times of leases are those of the database’s clock, also in a transaction that began before', async () => {
  const { send, task } = await setting();
  const id = await send();
  const [row] = await worker.sql.begin(async (sql) => {
    await sql`select pg_sleep(0.2)`;
    return await sql`
      select lease_expires_at - now() > interval '10.2 seconds' as later, lease_expires_at <= clock_timestamp() + interval '10 seconds' as bounded
      from planledger.receipt_reserve(${task}, ${id}, 'one', interval '10 seconds')`;
  });
  expect(row).toEqual({ later: true, bounded: true });
});
