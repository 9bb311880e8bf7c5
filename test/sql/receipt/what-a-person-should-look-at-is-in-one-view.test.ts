import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, useWorker } from '../deliveries.ts';

const db = useDatabase();
const worker = useWorker(db);

async function setting(transport: string | null = 'webhook') {
  const made = await makeSession(db, transport, 'WAITING_FOR_INPUT');
  const stuck = async () => [
    ...(await db.admin`
      select receipt_id, state, meaning from planledger.stuck_deliveries where task_id = ${made.task} order by receipt_id`),
  ];
  /** Moves what has happened into the past. */
  async function age(interval: string) {
    await db.admin`update planledger.receipts set created_at = created_at - ${interval}::text::interval,
      lease_expires_at = lease_expires_at - ${interval}::text::interval where task_id = ${made.task}`;
    await db.admin`update planledger.task_sessions set updated_at = updated_at - ${interval}::text::interval
      where task_id = ${made.task}`;
  }
  return { ...made, stuck, age };
}

test.each([
  ['webhook', 'No worker has taken it'],
  [null, 'The session has no transport'],
])('a prompt for a session of %s that nobody takes is there after two minutes', async (transport, meaning) => {
  const { send, stuck, age } = await setting(transport);
  const receipt_id = await send();
  await age('1 minute');
  expect(await stuck()).toEqual([]);
  await age('2 minutes');
  expect(await stuck()).toEqual([{ receipt_id, state: 'pending', meaning: expect.stringContaining(meaning) }]);
});

test('of a queue whose session waits the head is there, and what waits behind it is not', async () => {
  const { queue, stuck, age, on } = await setting();
  const head = await queue('head');
  await queue('behind');
  await age('3 minutes');
  expect(await stuck()).toMatchObject([{ receipt_id: head, state: 'pending' }]);
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  await age('3 minutes');
  expect(await stuck()).toEqual([]);
});

test('a queue whose session is busy waits its turn', async () => {
  const { queue, stuck, age, on } = await setting();
  await db.ledger.sessionSetState({ ...on, state: 'RUNNING' });
  await queue('waits');
  await age('3 minutes');
  expect(await stuck()).toEqual([]);
});

test('a lease that ended is there only where nobody has reconciled it', async () => {
  const { send, stuck, age, task } = await setting();
  const receipt_id = await send();
  await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'one' });
  await age('2 minutes');
  expect(await stuck()).toEqual([]);
  await age('2 minutes');
  expect(await stuck()).toMatchObject([
    { receipt_id, state: 'reserved', meaning: expect.stringContaining('no worker runs') },
  ]);
  await worker.ledger.receiptsReconcile({});
  expect(await stuck()).toEqual([]);
});

test('a reader sees it without reading a table', async () => {
  const { queue, age } = await setting();
  const receipt_id = await queue('head');
  await age('3 minutes');
  const rows = await db.admin.begin(async (sql) => {
    await sql`set local role planledger_reader`;
    return await sql`select state from planledger.stuck_deliveries where receipt_id = ${receipt_id}`;
  });
  expect([...rows]).toEqual([{ state: 'pending' }]);
});
