import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
const worker = useWorker(db);
const setting = () => makeSession(db, null, 'WAITING_FOR_INPUT');

/** Makes a receipt end as `state`, `ago`. */
const end = (id: string, state: string, ago = '0 seconds', attempted = state !== 'failed') => db.admin`
  update planledger.receipts set state = ${state}, lease_token = null, lease_expires_at = null,
    attempted_at = case when ${attempted} then created_at end, ended_at = clock_timestamp() - ${ago}::text::interval
  where id = ${id}`;

test('a receipt says how far a prompt has come, from pending to its end', async () => {
  const { send, by, task } = await setting();
  const receipt_id = await send('𝒎');
  const get = () => db.ledger.receiptGet({ ...by, receipt_id });
  expect(await get()).toEqual({
    ...{ id: receipt_id, task_id: task, session_id: 's', client_id: '𝒎', action: 'message', state: 'pending' },
    ...{ attempts: 0, retryable: false, failure: null, lease_holder: null, lease_expires_at: null, not_before: null },
    ...{ created_at: expect.any(Date), attempted_at: null, ended_at: null, dismissed_at: null },
  });
  const { lease_token: token } = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'one' });
  const lease = { lease_holder: 'one', lease_expires_at: expect.any(Date) };
  expect(await get()).toMatchObject({ state: 'reserved', attempts: 1, ...lease, attempted_at: null });
  await worker.ledger.receiptMarkAttempted({ task_id: task, token });
  expect(await get()).toMatchObject({ state: 'attempted', ...lease, attempted_at: expect.any(Date), ended_at: null });
  await worker.ledger.receiptAcknowledge({ task_id: task, token });
  expect(await get()).toMatchObject({
    state: 'acknowledged',
    lease_holder: null,
    lease_expires_at: null,
    ended_at: expect.any(Date),
  });
});

test('receipts are listed by session and by state', async () => {
  const { send, queue, by, on } = await setting();
  const [first, second] = [await send(), await queue('second')];
  await db.ledger.sessionCreate({ ...by, name: 'other', session_id: 'other' });
  const third = (await db.ledger.queueAdd({ ...by, session_id: 'other', client_queue_id: '3', content: 'x' })).id;
  await end(first, 'failed');
  const list = async (change: object = {}) => (await db.ledger.receiptList({ ...by, ...change })).map(({ id }) => id);
  expect(await list()).toEqual([third, second, first]);
  expect(await list({ session_id: on.session_id })).toEqual([second, first]);
  expect(await list({ state: 'failed' })).toEqual([first]);
  expect(await list({ state: 'pending', limit: 1 })).toEqual([third]);
  expect(await list({ session_id: 's', before_receipt_id: third })).toEqual([second, first]);
  for (const [argument, change] of [
    ['limit', { limit: 0 }],
    ['limit', { limit: null }],
    ['limit', { limit: 1001 }],
    ['state', { state: 'lost' }],
    ['state', { state: '' }],
    ['task_id', { task_id: null }],
  ] as const) {
    expect(await failure(list(change))).toMatchObject({ code: 'validation_error', details: { argument } });
  }
  expect(await failure(list({ session_id: 'absent' }))).toMatchObject({ code: 'session_not_found' });
});

test('only what failed before it went out is tried again', async () => {
  const { send, on, task } = await setting();
  const receipt_id = await send();
  const retry = (change: object = {}) => db.ledger.receiptRetry({ ...on, receipt_id, ...change });
  const refuses = async (argument: string, change: object = {}) => {
    const before = await storedDelivery(db, task);
    expect(await failure(retry(change))).toMatchObject({ code: 'validation_error', details: { argument } });
    expect(await storedDelivery(db, task)).toEqual(before);
  };
  await refuses('receipt_id');
  for (const state of ['acknowledged', 'cleared']) {
    await end(receipt_id, state);
    await refuses('receipt_id');
  }
  await end(receipt_id, 'failed', '0 seconds', true);
  await refuses('receipt_id');
  await db.admin`update planledger.receipts set attempted_at = null where id = ${receipt_id}`;
  await refuses('receipt_id', { receipt_id: randomUUID() });
  await refuses('receipt_id', { receipt_id: null });
  await refuses('session_id', { session_id: null });
  expect(await failure(retry({ session_id: 'absent' }))).toMatchObject({ code: 'session_not_found' });
  const other = await setting();
  await refuses('receipt_id', { receipt_id: await other.send() });
  expect(await retry()).toMatchObject({ state: 'pending', attempts: 0, failure: null, ended_at: null });
  await refuses('receipt_id');
});

test('what failed or was cleared is dismissed once, leaves the view, and comes back when it is tried again', async () => {
  const { send, on, by } = await setting();
  const receipt_id = await send();
  const stuck = async () =>
    (await db.admin`select from planledger.stuck_deliveries where receipt_id = ${receipt_id}`).length;
  const dismiss = (change: object = {}) => db.ledger.receiptDismiss({ ...on, receipt_id, ...change });
  const refused = { code: 'validation_error', details: { argument: 'receipt_id' } };
  expect(await failure(dismiss())).toMatchObject(refused);
  await end(receipt_id, 'acknowledged');
  expect(await failure(dismiss())).toMatchObject(refused);
  for (const state of ['cleared', 'failed']) {
    await end(receipt_id, state);
    await db.admin`update planledger.receipts set dismissed_at = null where id = ${receipt_id}`;
    expect(await stuck()).toBe(1);
    const dismissed = await dismiss();
    expect(dismissed).toMatchObject({ state, dismissed_at: expect.any(Date) });
    expect(await dismiss()).toEqual(dismissed);
    expect(await db.ledger.receiptGet({ ...by, receipt_id })).toEqual(dismissed);
    expect(await stuck()).toBe(0);
  }
  expect(await failure(dismiss({ receipt_id: randomUUID() }))).toMatchObject(refused);
  expect(await failure(dismiss({ receipt_id: null }))).toMatchObject(refused);
  expect(await failure(dismiss({ session_id: 'absent' }))).toMatchObject({ code: 'session_not_found' });
  await db.admin`update planledger.receipts set attempted_at = null where id = ${receipt_id}`;
  expect(await db.ledger.receiptRetry({ ...on, receipt_id })).toMatchObject({ state: 'pending', dismissed_at: null });
});

test('who does not reach the task, or may not write there, sees nothing and tries nothing again', async () => {
  const { send, on, by, cast, task } = await setting();
  const receipt_id = await send('m');
  await end(receipt_id, 'failed');
  await db.admin`update planledger.principals set scopes = '{plan:read,plan:write,task:read}' where id = ${cast.agent}`;
  const other = await setting();
  const before = await storedDelivery(db, task);
  for (const principal of [other.cast.user, other.cast.agent, randomUUID()]) {
    for (const call of [
      () => db.ledger.receiptGet({ ...by, principal, receipt_id }),
      () => db.ledger.receiptList({ ...by, principal }),
      () => db.ledger.receiptList({ ...by, principal, session_id: 'absent' }),
      () => db.ledger.receiptRetry({ ...on, principal, receipt_id }),
      () => db.ledger.receiptDismiss({ ...on, principal, receipt_id }),
      () => db.ledger.deliveryGet({ ...by, principal, client_id: 'm' }),
    ]) {
      expect(await failure(call())).toMatchObject({ code: 'task_unreachable' });
    }
  }
  const agent = { principal: cast.agent };
  expect(await failure(db.ledger.receiptRetry({ ...on, ...agent, receipt_id }))).toMatchObject({
    code: 'task_unreachable',
  });
  expect(await storedDelivery(db, task)).toEqual(before);
  expect(await db.ledger.receiptGet({ ...by, ...agent, receipt_id })).toMatchObject({ state: 'failed' });
  expect(await db.ledger.receiptGet({ ...other.by, receipt_id })).toBeNull();
});

test('receipts acknowledged long ago go; failed, cleared and younger ones stay, as do transcript and replay', async () => {
  const { send, on, by, receipt, transcript } = await setting();
  const ids: Record<string, string> = {};
  for (const name of ['old', 'young', 'failed', 'cleared']) {
    ids[name] = await send(name);
    await end(
      ids[name],
      name === 'failed' || name === 'cleared' ? name : 'acknowledged',
      name === 'young' ? '29 days 23 hours' : '30 days 1 hour',
    );
    await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  }
  expect(await worker.ledger.receiptsPrune({})).toEqual({ receipts_prune: '1' });
  expect(await db.ledger.receiptGet({ ...by, receipt_id: ids.old ?? null })).toBeNull();
  for (const name of ['young', 'failed', 'cleared']) expect(await receipt(ids[name] ?? '')).toBeDefined();
  expect(await worker.ledger.receiptsPrune({ keep: '24 hours' })).toEqual({ receipts_prune: '1' });
  expect(await worker.ledger.receiptsPrune({ keep: '24 hours' })).toEqual({ receipts_prune: '0' });
  expect(await transcript()).toHaveLength(4);
  const again = await db.ledger.messageAdd({ ...on, client_message_id: 'old', content: 'go' });
  expect(again).toMatchObject({ id: ids.old, state: 'acknowledged', replayed: true, content: 'go' });
  for (const keep of [null, '23 hours 59 minutes', '0 seconds', '-1 year']) {
    expect(await failure(worker.ledger.receiptsPrune({ keep }))).toMatchObject({
      ...{ code: 'validation_error', details: { argument: 'keep' } },
    });
  }
});
