import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';
import { closeSessions, openSession, until } from '../sessions.ts';

const db = useDatabase();
const worker = useWorker(db);
const start = (task_id: string, holder = 'one', lease?: string) =>
  worker.ledger.agentStart({ task_id, session_id: 's', holder, lease });

test.each(['acp', 'passthrough'])(
  'a new session of %s has a job, and one worker starts its agent',
  async (transport) => {
    const { task, session, jobs, lease } = await makeSession(db, transport);
    expect(await jobs()).toMatchObject([{ task: 'start_agent', key: `agent ${task}/s` }]);
    const started = await start(task);
    expect(started).toEqual({
      ...{ outcome: 'started', agent_token: expect.any(String), agent_name: 'claude', transport },
    });
    expect(await session()).toMatchObject({ state: 'STARTING', accepts: 'queue' });
    expect(await lease()).toMatchObject({ holder: 'one', lease_token: started.agent_token });
    const before = await storedDelivery(db, task);
    for (const holder of ['one', 'two']) {
      expect(await start(task, holder)).toEqual({
        outcome: 'held',
        agent_token: null,
        agent_name: null,
        transport: null,
      });
    }
    expect(await storedDelivery(db, task)).toEqual(before);
  },
);

test('a lease that ended is the next worker’s, with another token', async () => {
  const { task, lease, expireAgent } = await makeSession(db, 'acp');
  const first = await start(task);
  await expireAgent();
  const second = await start(task, 'two', '1 hour');
  expect(second.outcome).toBe('started');
  expect(second.agent_token).not.toBe(first.agent_token);
  expect(await lease()).toMatchObject({ holder: 'two', lease_token: second.agent_token });
  expect((await lease())?.left).toBeGreaterThan(3_500);
});

test.each([
  ['webhook', undefined],
  [null, undefined],
  ['acp', 'WAITING_FOR_INPUT'],
  ['acp', 'RUNNING'],
  ['acp', 'COMPLETED'],
  ['acp', 'FAILED'],
  ['acp', 'CANCELLED'],
] as const)('nothing is started for a session of %s in state %s', async (transport, state) => {
  const { task, lease } = await makeSession(db, transport, state);
  const before = await storedDelivery(db, task);
  expect(await start(task)).toMatchObject({ outcome: 'ended', agent_token: null });
  expect(await lease()).toBeUndefined();
  expect(await storedDelivery(db, task)).toEqual(before);
  expect(await worker.ledger.agentStart({ task_id: task, session_id: 'absent', holder: 'one' })).toMatchObject({
    outcome: 'ended',
  });
});

test('who takes a prompt for an agent takes the agent too, and keeps the token it has', async () => {
  const { task, send, lease, on } = await makeSession(db, 'acp', 'WAITING_FOR_INPUT');
  const receipt_id = await send();
  const reserve = (holder: string) =>
    worker.ledger.receiptReserve({ task_id: task, receipt_id, holder, lease: '10 seconds' });
  const first = await reserve('one');
  expect(first).toMatchObject({
    outcome: 'reserved',
    agent_name: 'claude',
    transport: 'acp',
    agent_token: expect.any(String),
  });
  expect(await lease()).toMatchObject({ holder: 'one', lease_token: first.agent_token });
  await worker.ledger.receiptMarkAttempted({ task_id: task, token: first.lease_token });
  await worker.ledger.receiptAcknowledge({ task_id: task, token: first.lease_token });
  await worker.ledger.agentTurnEnd({ task_id: task, token: first.agent_token, turn_id: receipt_id });
  const next = (await db.ledger.messageAdd({ ...on, client_message_id: 'next', content: 'x' })).id;
  const second = await worker.ledger.receiptReserve({ task_id: task, receipt_id: next, holder: 'one' });
  expect(second).toMatchObject({ outcome: 'reserved', agent_token: first.agent_token });
  expect((await lease())?.left).toBeGreaterThan(50);
});

test('a prompt for an agent that another worker runs is left to that worker, and looked at when its lease ends', async () => {
  const { task, send, receipt, jobs, expireAgent } = await makeSession(db, 'acp');
  const { agent_token } = await start(task, 'one', '30 minutes');
  await worker.ledger.agentReady({ task_id: task, token: agent_token });
  const receipt_id = await send();
  const elsewhere = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'two' });
  expect(elsewhere).toMatchObject({ outcome: 'elsewhere', lease_token: null, agent_token: null });
  expect(await receipt(receipt_id)).toMatchObject({ state: 'pending', attempts: 0 });
  const due = (await jobs()).find(({ key }) => key === `receipt ${receipt_id}`)?.due;
  expect(due).toBeGreaterThan(1_700);
  expect(due).toBeLessThanOrEqual(1_800);
  await expireAgent();
  const taken = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'two' });
  expect(taken.outcome).toBe('reserved');
  expect(taken.agent_token).not.toBe(agent_token);
});

test('of many workers that start one agent at once exactly one has it', async () => {
  const { task, lease } = await makeSession(db, 'acp');
  const holders = Array.from({ length: 8 }, (_, n) => `worker ${n}`);
  const answers = await Promise.all(holders.map((holder) => start(task, holder)));
  const started = answers.filter(({ outcome }) => outcome === 'started');
  expect(started).toHaveLength(1);
  expect(answers.filter(({ outcome }) => outcome === 'held')).toHaveLength(7);
  expect((await lease())?.lease_token).toBe(started[0]?.agent_token);
});

test('a session whose task is deleted meanwhile has nothing to start', async () => {
  const { task, by } = await makeSession(db, 'acp');
  const deleter = await openSession(db, 'deleter');
  try {
    await deleter.begin();
    await deleter.ledger.taskDelete(by);
    const starting = start(task);
    await until('the worker waiting', async () => {
      const [row] = await db.admin`
        select from pg_stat_activity where application_name = 'test worker' and wait_event_type = 'Lock'
          and ${deleter.pid}::integer = any (pg_blocking_pids(pid)) and datname = current_database()`;
      return row;
    });
    await deleter.commit();
    expect(await starting).toMatchObject({ outcome: 'ended' });
  } finally {
    await closeSessions(deleter);
  }
});

test.each([
  ['holder', { holder: '' }],
  ['holder', { holder: null }],
  ['holder', { holder: '𝒙'.repeat(201) }],
  ['session_id', { session_id: '' }],
  ['session_id', { session_id: null }],
  ['session_id', { session_id: 'x'.repeat(201) }],
  ['task_id', { task_id: null }],
  ['task_id', { task_id: 'x'.repeat(201) }],
  ['lease', { lease: '0.9 seconds' }],
  ['lease', { lease: '0 seconds' }],
  ['lease', { lease: '-1 minute' }],
  ['lease', { lease: '1 hour 1 microsecond' }],
  ['lease', { lease: '1 month' }],
])('a bad %s starts nothing: %o', async (argument, change) => {
  const { task } = await makeSession(db, 'acp');
  const before = await storedDelivery(db, task);
  const call = worker.ledger.agentStart({ task_id: task, session_id: 's', holder: 'one', ...change });
  expect(await failure(call)).toMatchObject({ code: 'validation_error', details: { argument } });
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('names of two hundred characters outside the BMP are names like others', async () => {
  const { task, lease } = await makeSession(db, 'acp');
  const holder = '𝒙'.repeat(200);
  expect(await start(task, holder, '1 second')).toMatchObject({ outcome: 'started' });
  expect(await lease()).toMatchObject({ holder });
});
