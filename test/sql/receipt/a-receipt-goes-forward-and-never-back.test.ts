import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, nobody, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';
import { closeSessions, openSession, until } from '../sessions.ts';

const db = useDatabase();
const worker = useWorker(db);

/** A prompt, reserved and, where asked for, marked. */
async function setting({ marked = false, transport = null as string | null } = {}) {
  const made = await makeSession(db, transport, 'WAITING_FOR_INPUT');
  const { task: task_id } = made;
  const id = await made.send();
  const reserved = await worker.ledger.receiptReserve({ task_id, receipt_id: id, holder: 'one' });
  const token = reserved.lease_token ?? expect.unreachable('it was not reserved');
  if (marked) await worker.ledger.receiptMarkAttempted({ task_id, token });
  return { ...made, task_id, id, token };
}

/** Every call that needs the token of a lease. */
const calls = (task_id: string, token: string | null) => ({
  mark: () => worker.ledger.receiptMarkAttempted({ task_id, token }),
  release: () => worker.ledger.receiptRelease({ task_id, token, failure: 'x' }),
  acknowledge: () => worker.ledger.receiptAcknowledge({ task_id, token }),
  fail: () => worker.ledger.receiptEndAttempt({ task_id, token, state: 'failed', failure: 'x' }),
  clear: () => worker.ledger.receiptEndAttempt({ task_id, token, state: 'cleared', failure: 'x' }),
});

test.each([
  [false, ['acknowledge', 'fail', 'clear']],
  [true, ['mark', 'release']],
] as const)('what does not follow is refused and changes nothing (marked: %s)', async (marked, refused) => {
  const { task, token } = await setting({ marked });
  const before = await storedDelivery(db, task);
  for (const name of refused) expect(await failure(calls(task, token)[name]())).toMatchObject({ code: 'lease_lost' });
  expect(await storedDelivery(db, task)).toEqual(before);
});

test.each([
  ['acknowledge', 'acknowledged', { state: 'RUNNING', failure: null }],
  ['fail', 'failed', { state: 'WAITING_FOR_INPUT', failure: 'x' }],
  ['clear', 'cleared', { state: 'WAITING_FOR_INPUT', failure: 'x' }],
] as const)('after %s nothing follows', async (name, state, after) => {
  const { task, id, token, receipt, session, on } = await setting({ marked: true });
  await calls(task, token)[name]();
  expect(await receipt(id)).toMatchObject({ state });
  expect(await session()).toMatchObject(after);
  const before = await storedDelivery(db, task);
  for (const call of Object.values(calls(task, token)))
    expect(await failure(call())).toMatchObject({ code: 'lease_lost' });
  expect(await worker.ledger.receiptReserve({ task_id: task, receipt_id: id, holder: 'two' })).toMatchObject({
    outcome: 'ended',
  });
  expect(await failure(db.ledger.receiptRetry({ ...on, receipt_id: id }))).toMatchObject({
    ...{ code: 'validation_error', details: { argument: 'receipt_id' } },
  });
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('that a prompt was refused, or may have arrived, stands in the transcript', async () => {
  const notice = async (name: 'fail' | 'clear') => {
    const { task, token, transcript } = await setting({ marked: true });
    await calls(task, token)[name]();
    return (await transcript()).at(-1);
  };
  const said = { role: 'system', kind: 'notice', author_name: 'Planledger' };
  expect(await notice('fail')).toEqual({ ...said, content: 'The prompt was not delivered. x' });
  const content = 'It is not known whether the prompt was delivered. It is not sent again. x';
  expect(await notice('clear')).toEqual({ ...said, content });
});

test.each(['unknown', 'null', 'expired', 'of another task', 'of a session that ended', 'of a deleted task'])(
  'with a token that is %s every call is refused and changes nothing',
  async (which) => {
    for (const marked of [false, true]) {
      // What was marked before its session ended may still be acknowledged.
      if (marked && which === 'of a session that ended') continue;
      const made = await setting({ marked });
      let token: string | null = which === 'null' ? null : nobody;
      if (which.startsWith('of a session') || which.startsWith('of a deleted') || which === 'expired')
        token = made.token;
      if (which === 'expired') await made.expireReceipts();
      if (which === 'of another task') token = (await setting({ marked })).token;
      if (which === 'of a session that ended') await db.ledger.sessionClose(made.on);
      if (which === 'of a deleted task') await db.ledger.taskDelete(made.by);
      const before = await storedDelivery(db, made.task);
      for (const call of Object.values(calls(made.task, token))) {
        expect(await failure(call())).toMatchObject({ code: 'lease_lost' });
      }
      expect(await storedDelivery(db, made.task)).toEqual(before);
    }
  },
);

test('a prompt on its way when its session ends is still acknowledged, and the session stays ended', async () => {
  const { task, id, token, receipt, session, on } = await setting({ marked: true });
  const closed = await db.ledger.sessionClose(on);
  expect(await receipt(id)).toMatchObject({ state: 'attempted' });
  await calls(task, token).acknowledge();
  expect(await receipt(id)).toMatchObject({ state: 'acknowledged' });
  expect(await session()).toEqual(closed);
});

test('what a session had not been sent when it ended has failed, in the queue and under a lease', async () => {
  const { id, queue, receipt, on } = await setting();
  const waiting = await queue('waits');
  await db.ledger.sessionSetState({ ...on, state: 'CANCELLED' });
  for (const each of [id, waiting]) {
    expect(await receipt(each)).toMatchObject({ state: 'failed', failure: 'The session had ended.' });
    expect(await failure(db.ledger.receiptRetry({ ...on, receipt_id: each }))).toMatchObject({
      code: 'session_terminal',
    });
  }
});

test('the marker is refused once the task is archived: the prompt has failed and was never sent', async () => {
  const { task, id, token, receipt, session, by, on } = await setting();
  await db.ledger.taskArchive(by);
  expect(await calls(task, token).mark()).toEqual({
    ...{ outcome: 'refused', message_id: null, content: null, plan_mode: null, attachment_ids: null },
  });
  expect(await receipt(id)).toMatchObject({ state: 'failed', failure: 'The task was archived.' });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: 'The task was archived.' });
  expect(await failure(calls(task, token).mark())).toMatchObject({ code: 'lease_lost' });
  expect(await failure(db.ledger.receiptRetry({ ...on, receipt_id: id }))).toMatchObject({
    ...{ code: 'validation_error', details: { argument: 'task_id' } },
  });
});

test('an agent over HTTP is free again once it has the prompt, and what waits goes out next', async () => {
  const { task, token, session, queue, jobs } = await setting({ marked: true, transport: 'webhook' });
  const next = await queue('next');
  await calls(task, token).acknowledge();
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' });
  expect((await jobs()).map(({ key }) => key)).toContain(`receipt ${next}`);
});

test('a call that waits for a task which is then deleted has lost its lease', async () => {
  for (const name of ['mark', 'release'] as const) {
    const { task, token, by } = await setting();
    const deleter = await openSession(db, 'deleter');
    try {
      await deleter.begin();
      await deleter.ledger.taskDelete(by);
      const refused = failure(calls(task, token)[name]());
      await until('the worker waiting', async () => {
        const [row] = await db.admin`
          select from pg_stat_activity where application_name = 'test worker' and datname = current_database()
            and ${deleter.pid}::integer = any (pg_blocking_pids(pid))`;
        return row;
      });
      await deleter.commit();
      expect(await refused).toMatchObject({ code: 'lease_lost' });
    } finally {
      await closeSessions(deleter);
    }
  }
});

test('failures are cut at a thousand characters, whatever those are', async () => {
  const { task, id, token, receipt, transcript } = await setting({ marked: true });
  await worker.ledger.receiptEndAttempt({ task_id: task, token, state: 'failed', failure: '𝒇'.repeat(1_001) });
  expect((await receipt(id)).failure).toBe('𝒇'.repeat(1_000));
  expect((await transcript()).at(-1)?.content).toBe(`The prompt was not delivered. ${'𝒇'.repeat(1_000)}`);
});

test.each([
  [
    'state',
    (task_id: string, token: string) =>
      worker.ledger.receiptEndAttempt({ task_id, token, state: 'pending', failure: 'x' }),
  ],
  [
    'state',
    (task_id: string, token: string) =>
      worker.ledger.receiptEndAttempt({ task_id, token, state: 'acknowledged', failure: 'x' }),
  ],
  [
    'state',
    (task_id: string, token: string) => worker.ledger.receiptEndAttempt({ task_id, token, state: null, failure: 'x' }),
  ],
  ['limit', (task_id: string, token: string) => worker.ledger.receiptMarkAttempted({ task_id, token, limit: null })],
  [
    'limit',
    (task_id: string, token: string) => worker.ledger.receiptMarkAttempted({ task_id, token, limit: '0.5 seconds' }),
  ],
  [
    'limit',
    (task_id: string, token: string) => worker.ledger.receiptMarkAttempted({ task_id, token, limit: '61 minutes' }),
  ],
  ['holder', (task_id: string) => worker.ledger.receiptReserve({ task_id, receipt_id: nobody, holder: '' })],
  ['holder', (task_id: string) => worker.ledger.receiptReserve({ task_id, receipt_id: nobody, holder: null })],
  [
    'lease',
    (task_id: string) => worker.ledger.receiptReserve({ task_id, receipt_id: nobody, holder: 'x', lease: '0 seconds' }),
  ],
  [
    'lease',
    (task_id: string) => worker.ledger.receiptReserve({ task_id, receipt_id: nobody, holder: 'x', lease: '2 hours' }),
  ],
] as const)('a bad %s changes nothing', async (argument, call) => {
  const { task, token } = await setting();
  const before = await storedDelivery(db, task);
  expect(await failure(call(task, token))).toMatchObject({ code: 'validation_error', details: { argument } });
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('a receipt that is not there has ended', async () => {
  const { task } = await setting();
  for (const receipt_id of [randomUUID(), null]) {
    expect(await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'x' })).toMatchObject({
      outcome: 'ended',
    });
  }
});
