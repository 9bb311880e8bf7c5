import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
const worker = useWorker(db);

async function setting() {
  const made = await makeSession(db, null, 'WAITING_FOR_INPUT');
  return { ...made, get: (client_id: string | null) => db.ledger.deliveryGet({ ...made.by, client_id }) };
}

test('a message and a queue entry are found as they were answered, and nothing else is', async () => {
  const { get, send, queue, task } = await setting();
  const [sent, waiting] = [await send('𝒎\u200D'), await queue('q', 'later')];
  expect(await get('𝒎\u200D')).toEqual({
    ...{ id: sent, task_id: task, session_id: 's', action: 'message', client_id: '𝒎\u200D', state: 'pending' },
    ...{ content: 'go', comments: [], replayed: false, created_at: expect.any(Date) },
  });
  expect(await get('q')).toMatchObject({ id: waiting, action: 'queue', state: 'pending', content: 'later' });
  for (const absent of ['𝒎', 'Q', 'q ', '%']) expect(await get(absent)).toBeNull();
  expect(await (await setting()).get('q')).toBeNull();
});

test('what became of a prompt is told at every step, and long after its receipt was forgotten', async () => {
  const { get, queue, task } = await setting();
  const receipt_id = await queue('q');
  const { lease_token: token } = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'one' });
  expect(await get('q')).toMatchObject({ state: 'reserved' });
  await worker.ledger.receiptMarkAttempted({ task_id: task, token });
  expect(await get('q')).toMatchObject({ state: 'attempted', content: 'q' });
  await worker.ledger.receiptAcknowledge({ task_id: task, token });
  await db.admin`update planledger.receipts set ended_at = 'epoch' where id = ${receipt_id}`;
  await worker.ledger.receiptsPrune({});
  expect(await get('q')).toMatchObject({ id: receipt_id, state: 'acknowledged', content: 'q' });
});

test('an entry that was removed is told apart from one that was delivered', async () => {
  const { get, queue, on } = await setting();
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  await db.ledger.queueRemove({ ...on, entry_id: await queue('q') });
  expect(await get('q')).toMatchObject({ state: 'removed', content: null });
});

test.each([null, '', 'x'.repeat(201)])('an id that can be none is refused', async (client_id) => {
  const { get } = await setting();
  expect(await failure(get(client_id))).toMatchObject({
    ...{ code: 'validation_error', details: { argument: 'client_id' } },
  });
});
