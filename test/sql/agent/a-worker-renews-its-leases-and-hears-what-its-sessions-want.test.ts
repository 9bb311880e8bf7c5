import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();
const worker = useWorker(db);

/** A session whose agent runs under a worker of its own. */
async function running(transport = 'acp') {
  const setting = await makeSession(db, transport);
  const { task } = setting;
  const holder = `worker of ${task}`;
  const { agent_token: token } = await worker.ledger.agentStart({ task_id: task, session_id: 's', holder });
  await worker.ledger.agentReady({ task_id: task, token });
  const tend = (lease?: string) => worker.ledger.agentsTend({ holder, tokens: [String(token)], lease });
  const row = {
    task_id: task,
    session_id: 's',
    agent_token: token,
    wanted: true,
    cancel_turn_id: null,
    receipt_id: null,
  };
  const leave = (seconds: number) => db.admin`
    update planledger.session_agents set lease_expires_at = clock_timestamp() + ${seconds} * interval '1 second'
    where task_id = ${task}`;
  return { ...setting, holder, token, tend, row, leave };
}

test('a lease is renewed from now on once a quarter of it is over, and not before', async () => {
  const { tend, row, lease, leave } = await running();
  await leave(50);
  expect(await tend('1 minute')).toEqual([row]);
  expect((await lease())?.left).toBeLessThan(51);
  await leave(40);
  expect(await tend('1 minute')).toEqual([row]);
  expect((await lease())?.left).toBeGreaterThan(55);
  expect(await tend('1 hour')).toEqual([row]);
  expect((await lease())?.left).toBeGreaterThan(3_500);
  await tend('1 second');
  expect((await lease())?.left).toBeGreaterThan(3_500);
});

test('a lease that ended is not renewed, nor is that of another worker', async () => {
  const { tend, lease, leave, holder, token } = await running();
  const before = await lease();
  const tokens = [String(token)];
  expect(await worker.ledger.agentsTend({ holder: 'another', tokens, lease: '1 hour' })).toEqual([]);
  // Of one whose process it does not run, a worker only thinks that it has it.
  expect(await worker.ledger.agentsTend({ holder, tokens: [], lease: '1 hour' })).toEqual([]);
  expect((await lease())?.left).toBeLessThanOrEqual(before?.left ?? 0);
  await leave(-1);
  expect(await tend('1 hour')).toEqual([]);
  expect((await lease())?.left).toBeLessThan(0);
});

test('a prompt that waits for the agent is named, whether it was sent at once or stands in the queue', async () => {
  const { tend, row, send, queue, on, session, task, token } = await running();
  const receipt_id = await send();
  const next = await queue('next');
  expect(await tend()).toEqual([{ ...row, receipt_id }]);
  const { lease_token } = await worker.ledger.receiptReserve({
    task_id: task,
    receipt_id,
    holder: `worker of ${task}`,
  });
  expect(await tend()).toEqual([row]);
  await worker.ledger.receiptMarkAttempted({ task_id: task, token: lease_token });
  await worker.ledger.receiptAcknowledge({ task_id: task, token: lease_token });
  expect(await tend()).toEqual([row]);
  await worker.ledger.agentTurnEnd({ task_id: task, token, turn_id: receipt_id });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' });
  expect(await tend()).toEqual([{ ...row, receipt_id: next }]);
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  expect(await tend()).toEqual([row]);
  await db.ledger.queueDrain(on);
  expect(await tend()).toEqual([{ ...row, receipt_id: next }]);
});

test('a prompt that may be tried only later is not named before', async () => {
  const { tend, row, send, task, wait } = await running();
  const receipt_id = await send();
  const { lease_token } = await worker.ledger.receiptReserve({
    task_id: task,
    receipt_id,
    holder: `worker of ${task}`,
  });
  await worker.ledger.receiptRelease({ task_id: task, token: lease_token, failure: 'no' });
  expect(await tend()).toEqual([row]);
  await wait();
  expect(await tend()).toEqual([{ ...row, receipt_id }]);
});

test('a session that was closed no longer wants its agent, which its worker still has to end', async () => {
  const { tend, row, on, task, token, lease, session } = await running();
  await db.ledger.sessionClose(on);
  expect(await tend()).toEqual([{ ...row, wanted: false }]);
  await worker.ledger.agentEnd({ task_id: task, token });
  expect(await lease()).toBeUndefined();
  expect(await tend()).toEqual([]);
  expect(await session()).toMatchObject({ state: 'COMPLETED', failure: null });
});

test('a turn that somebody wants cancelled is named until another begins', async () => {
  const { tend, row, send, queue, on, task, token } = await running();
  const receipt_id = await send();
  const { lease_token } = await worker.ledger.receiptReserve({
    task_id: task,
    receipt_id,
    holder: `worker of ${task}`,
  });
  await worker.ledger.receiptMarkAttempted({ task_id: task, token: lease_token });
  await worker.ledger.receiptAcknowledge({ task_id: task, token: lease_token });
  const entry = await queue('now');
  await db.ledger.queueSendNow({ ...on, entry_ids: [entry], turn_id: receipt_id });
  expect(await tend()).toEqual([{ ...row, cancel_turn_id: receipt_id }]);
  await worker.ledger.agentTurnEnd({ task_id: task, token, turn_id: receipt_id });
  expect(await tend()).toEqual([{ ...row, receipt_id: entry }]);
});

test('an archived task keeps its agent, and a deleted one is gone', async () => {
  const { tend, row, by, task, token } = await running();
  await db.ledger.taskArchive(by);
  expect(await tend()).toEqual([row]);
  await db.ledger.taskDelete(by);
  expect(await tend()).toEqual([]);
  expect(await failure(worker.ledger.agentEnd({ task_id: task, token }))).toMatchObject({ code: 'lease_lost' });
});

test('an agent whose task somebody is deleting holds up no renewal of another', async () => {
  const [held, other] = [await running(), await running()];
  await db.admin`
    update planledger.session_agents set holder = ${other.holder}, lease_expires_at = clock_timestamp() + interval '5 seconds'
    where task_id in (${held.task}, ${other.task})`;
  const deleter = await openSession(db, 'deleter');
  try {
    await deleter.begin();
    await deleter.ledger.taskDelete(held.by);
    await worker.sql.begin(async (sql) => {
      await sql`set local lock_timeout = '1s'`;
      await sql`
        select from planledger.agents_tend(${other.holder}, array[${String(held.token)}::uuid, ${String(other.token)}::uuid])`;
    });
    expect((await other.lease())?.left).toBeGreaterThan(50);
    await deleter.rollback();
    expect((await held.lease())?.left).toBeLessThan(6);
    await worker.ledger.agentsTend({ holder: other.holder, tokens: [String(held.token), String(other.token)] });
    expect((await held.lease())?.left).toBeGreaterThan(50);
  } finally {
    await closeSessions(deleter);
  }
});

test.each([
  ['holder', { holder: null }],
  ['holder', { holder: '' }],
  ['holder', { holder: 'x'.repeat(201) }],
  ['lease', { lease: '0 seconds' }],
  ['lease', { lease: '999 milliseconds' }],
  ['lease', { lease: '61 minutes' }],
])('a bad %s renews nothing: %o', async (argument, change) => {
  const { holder, leave, lease, token } = await running();
  await leave(5);
  const call = worker.ledger.agentsTend({ holder, tokens: [String(token)], ...change });
  expect(await failure(call)).toMatchObject({ code: 'validation_error', details: { argument } });
  expect((await lease())?.left).toBeLessThanOrEqual(5);
});
