import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, nobody, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
const worker = useWorker(db);

async function setting() {
  const made = await makeSession(db, 'acp');
  const { task } = made;
  const start = async (holder = 'one') =>
    (await worker.ledger.agentStart({ task_id: task, session_id: 's', holder })).agent_token;
  const end = (token: string | null, why?: string) => worker.ledger.agentEnd({ task_id: task, token, failure: why });
  const due = async () => (await made.jobs()).find(({ key }) => key === `agent ${task}/s`)?.due;
  /** Has the agent start and take a prompt, as far as `acknowledged` or else `reserved`. */
  async function busy(acknowledged: boolean) {
    const token = await start();
    await worker.ledger.agentReady({ task_id: task, token });
    const receipt_id = await made.send();
    const reserved = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'one' });
    if (acknowledged) {
      await worker.ledger.receiptMarkAttempted({ task_id: task, token: reserved.lease_token });
      await worker.ledger.receiptAcknowledge({ task_id: task, token: reserved.lease_token });
    }
    return { token, receipt_id, lease_token: reserved.lease_token };
  }
  return { ...made, start, end, due, busy };
}

test('an agent that is ready waits for a prompt, and its session with it', async () => {
  const { start, session, task, on } = await setting();
  const token = await start();
  await worker.ledger.agentReady({ task_id: task, token });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', accepts: 'direct', failure: null });
  await db.ledger.sessionClose(on);
  await worker.ledger.agentReady({ task_id: task, token });
  expect(await session()).toMatchObject({ state: 'COMPLETED' });
});

test('an agent that cannot start is tried again after 1, 4, 16 and 64 seconds, and then its session has failed', async () => {
  const { start, end, due, session, queue, receipt, on } = await setting();
  const waiting = await queue('waits');
  for (const seconds of [1, 4, 16, 64]) {
    await end(await start(), `no agent, ${seconds}`);
    expect(await session()).toMatchObject({ state: 'STARTING', failure: `no agent, ${seconds}` });
    expect(await due()).toBeGreaterThan(seconds - 1);
    expect(await due()).toBeLessThanOrEqual(seconds);
    await worker.ledger.receiptsReconcile({});
    expect(await due(), 'reconciliation does not bring it forward').toBeGreaterThan(seconds - 1);
  }
  await end(await start(), 'no agent at all');
  expect(await session()).toMatchObject({ state: 'FAILED', failure: 'no agent at all', accepts: 'nothing' });
  expect(await receipt(waiting)).toMatchObject({ state: 'failed', failure: 'The session had ended.' });
  expect(await db.ledger.receiptGet({ ...on, receipt_id: waiting })).toMatchObject({ retryable: false });
});

test('an agent that was there once has all its attempts again', async () => {
  const { start, end, task, session, on } = await setting();
  for (let n = 0; n < 4; n += 1) await end(await start(), 'no agent');
  const token = await start();
  await worker.ledger.agentReady({ task_id: task, token });
  await end(token);
  await db.ledger.sessionSetState({ ...on, state: 'STARTING' });
  await end(await start(), 'no agent');
  expect(await session()).toMatchObject({ state: 'STARTING' });
});

test('a worker that stops while an agent starts leaves the start to the next, at once', async () => {
  const { start, end, due, session } = await setting();
  await end(await start());
  expect(await session()).toMatchObject({ state: 'STARTING', failure: null });
  expect(await due()).toBeLessThanOrEqual(0);
});

test('an agent that waits and ends leaves a session that waits, and says why where nobody asked it to', async () => {
  const { start, end, task, session, lease } = await setting();
  const token = await start();
  await worker.ledger.agentReady({ task_id: task, token });
  await end(token);
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: null });
  expect(await lease()).toBeUndefined();
  const again = await setting();
  const other = await again.start();
  await worker.ledger.agentReady({ task_id: again.task, token: other });
  await again.end(other, `it crashed ${'𝒙'.repeat(2000)}`);
  const { state, failure: why } = await again.session();
  expect([state, [...(why ?? '')].length]).toEqual(['WAITING_FOR_INPUT', 1000]);
});

test('the turn of an agent that ends is over, and what waits goes out next', async () => {
  const { busy, end, session, queue, jobs } = await setting();
  const { token } = await busy(true);
  const next = await queue('next');
  await end(token, 'it crashed');
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: 'it crashed' });
  expect((await jobs()).map(({ key }) => key)).toContain(`receipt ${next}`);
});

test('a prompt that was only reserved when the agent ended is still given back by its worker', async () => {
  const { busy, end, session, receipt, task } = await setting();
  const { token, receipt_id, lease_token } = await busy(false);
  await end(token, 'it crashed');
  expect(await session()).toMatchObject({ state: 'RUNNING' });
  expect(
    await worker.ledger.receiptRelease({ task_id: task, token: lease_token, failure: 'it crashed' }),
  ).toMatchObject({
    receipt_release: 'pending',
  });
  expect(await receipt(receipt_id)).toMatchObject({ state: 'pending' });
});

test('the end of a turn frees the session once; one that is over already is left alone', async () => {
  const { busy, session, task, end } = await setting();
  const { token, receipt_id } = await busy(true);
  const before = await storedDelivery(db, task);
  for (const turn_id of [nobody, null])
    await worker.ledger.agentTurnEnd({ task_id: task, token, turn_id, failure: 'x' });
  expect(await storedDelivery(db, task)).toEqual(before);
  await worker.ledger.agentTurnEnd({ task_id: task, token, turn_id: receipt_id, failure: 'it refused' });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: 'it refused' });
  const after = await storedDelivery(db, task);
  await worker.ledger.agentTurnEnd({ task_id: task, token, turn_id: receipt_id });
  expect(await storedDelivery(db, task)).toEqual(after);
  await end(token);
});

test('of a worker that died: a start is done again, a turn is over, and a lease that is live is left alone', async () => {
  const live = await setting();
  await live.start('alive');
  const before = await storedDelivery(db, live.task);

  const starting = await setting();
  await starting.start('dead');
  await starting.expireAgent();
  const turn = await setting();
  await turn.busy(true);
  await turn.expireAgent();
  const idle = await setting();
  await worker.ledger.agentReady({ task_id: idle.task, token: await idle.start('dead') });
  await idle.expireAgent();

  await worker.ledger.receiptsReconcile({});
  expect(await storedDelivery(db, live.task)).toEqual(before);
  const failed = { failure: 'The worker that ran the agent did not come back.' };
  expect(await starting.session()).toMatchObject({ state: 'STARTING', ...failed });
  expect(await starting.due()).toBeGreaterThan(0);
  expect(await starting.due()).toBeLessThanOrEqual(1);
  for (const one of [turn, idle]) expect(await one.session()).toMatchObject({ state: 'WAITING_FOR_INPUT', ...failed });
  for (const one of [starting, turn, idle]) expect(await one.lease()).toBeUndefined();

  const again = await storedDelivery(db, turn.task);
  await worker.ledger.receiptsReconcile({});
  expect(await storedDelivery(db, turn.task)).toEqual(again);
});

test('a session that is closed while its agent starts stays closed, whatever the worker says afterwards', async () => {
  const { start, end, on, session, task } = await setting();
  const token = await start();
  const closed = await db.ledger.sessionClose(on);
  await worker.ledger.agentReady({ task_id: task, token });
  await end(token, 'it crashed');
  expect(await session()).toEqual(closed);
});

test.each(['unknown', 'null', 'expired', 'the last worker’s', 'of another task', 'of a deleted task'])(
  'a token that is %s changes nothing',
  async (which) => {
    const made = await setting();
    const { task, by, expireAgent } = made;
    const { token: first, receipt_id } = await made.busy(true);
    let token = which === 'null' ? null : nobody;
    if (which === 'expired') {
      token = first;
      await expireAgent();
    } else if (which === 'the last worker’s') {
      token = first;
      await expireAgent();
      await db.ledger.sessionSetState({ ...made.on, state: 'STARTING' });
      await made.start('two');
    } else if (which === 'of another task') {
      token = (await (await setting()).busy(true)).token;
    } else if (which === 'of a deleted task') {
      token = first;
      await db.ledger.taskDelete(by);
    }
    const before = await storedDelivery(db, task);
    for (const call of [
      () => worker.ledger.agentReady({ task_id: task, token }),
      () => worker.ledger.agentTurnEnd({ task_id: task, token, turn_id: receipt_id }),
      () => worker.ledger.agentEnd({ task_id: task, token, failure: 'x' }),
      () => worker.ledger.agentSay({ task_id: task, token, kind: 'message', content: 'x', message_id: nobody }),
    ]) {
      expect(await failure(call())).toMatchObject({ code: 'lease_lost' });
    }
    expect(await storedDelivery(db, task)).toEqual(before);
  },
);
