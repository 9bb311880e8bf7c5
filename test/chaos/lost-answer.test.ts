import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PlanledgerError } from '../../src/ledger/errors.ts';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { failure, stored } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { type FaultyNetwork, openFaultyNetwork } from './support/faulty-network.ts';
import { historyProblems } from './support/history.ts';
import { startWorker } from './support/processes.ts';

const db = useDatabase();
let network: FaultyNetwork;
let distant: Sql;
let ledger: Ledger;
beforeAll(async () => {
  network = await openFaultyNetwork(db.url);
  distant = await connect(network.url, { max: 1, applicationName: 'distant' });
  ledger = createLedger(distant);
});
afterAll(async () => {
  await distant?.end({ timeout: 1 });
  await network?.close();
});

/** Waits until another connection sees more events of the task than `before`, which is to say a commit. */
async function untilCommitted(task: string, before: number): Promise<void> {
  await vi.waitFor(async () => expect(await eventsOf(task)).toBe(before + 1), { timeout: 5000, interval: 10 });
}

async function eventsOf(task: string): Promise<number> {
  const [row] = await db.admin<{ count: number }[]>`
    select count(*)::int as count from planledger.events where task_id = ${task}`;
  return row?.count ?? 0;
}

test('a client killed between commit and answer: the same request_id from another process is answered, not written', async () => {
  const { task, agent } = await makeCast(db);
  await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
  const call = {
    applicationName: 'request',
    calls: [['planAppend', { principal: agent, task_id: task, fragment: 'once', request_id: 'r-1' }]] as [
      'planAppend',
      Record<string, unknown>,
    ][],
  };
  const first = startWorker('call', { ...call, url: network.url });
  await first.until('ready');
  const before = await eventsOf(task);
  network.holdAnswers();
  first.tell('go');
  await untilCommitted(task, before);
  first.kill();
  expect(await first.ended).toBe('SIGKILL');
  expect(first.of('answered')).toEqual([]);
  network.breakConnections();
  const written = await stored(db, task);

  const second = startWorker('call', { ...call, url: db.url });
  await second.until('ready');
  second.tell('go');
  expect(await second.ended).toBe(0);
  const plan = await db.ledger.planGet({ principal: agent, task_id: task });
  expect(plan?.content).toBe('start\n\nonce');
  expect(second.of('answered')[0]?.answer).toMatchObject({
    outcome: 'appended',
    replayed: true,
    version: plan?.version,
    revision_number: plan?.revision_number,
    content_bytes: plan?.content_bytes,
  });
  expect(await stored(db, task)).toEqual(written);
});

describe('the connection breaks between commit and answer', () => {
  test.each([
    'planAppend',
    'planCreate',
    'planReplace',
    'planEdit',
    'planRestore',
    'planRevert',
    'planDelete',
  ] as const)(
    '%s: connection_lost, whether it was written unknown; a repeat is answered and writes nothing',
    async (method) => {
      const { task, agent, user } = await makeCast(db);
      const { revision_id } = await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
      const revision = await db.ledger.revisionGet({ principal: agent, task_id: task, revision_id });
      // As another principal, so that the first revision stays what it is.
      const { version } = await db.ledger.planReplace({
        principal: user,
        policy: 'browser',
        task_id: task,
        content: 'second',
      });
      const values = {
        principal: method === 'planRevert' ? user : agent,
        task_id: task,
        fragment: 'more',
        content: 'other',
        old_text: 'second',
        new_text: 'third',
        revision_id,
        expected_version: version,
        expected_revision_version: revision.revision_version,
        request_id: 'r-1',
      };
      const call = (): Promise<{ replayed: boolean }> => ledger[method](values);

      await ledger.planGet(values); // the pool has its connection
      const before = await eventsOf(task);
      network.holdAnswers();
      const lost = failure(call());
      await untilCommitted(task, before);
      network.breakConnections();
      const error = await lost;
      expect(error.toJSON()).toMatchObject({ code: 'connection_lost', write_applied: 'unknown', task_id: task });
      expect(error.message).not.toContain('othing was written');
      expect(error.nextAction).toMatch(/^Read the plan/);
      expect(error.retrySafe).toBe(false);
      const written = await stored(db, task);

      expect(await call()).toMatchObject({ replayed: true });
      expect(await stored(db, task)).toEqual(written);
      expect(await historyProblems(db.admin)).toEqual([]);
    },
  );
});

test('the connection breaks before the call arrives: connection_lost too, nothing written, and a repeat writes once', async () => {
  const { task, agent } = await makeCast(db);
  await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
  const values = { principal: agent, task_id: task, fragment: 'once', request_id: 'r-1' };
  await ledger.planGet(values);
  const before = await stored(db, task);
  network.holdRequests();
  const lost = failure(ledger.planAppend(values));
  setTimeout(() => network.breakConnections(), 100);
  expect((await lost).toJSON()).toMatchObject({ code: 'connection_lost', write_applied: 'unknown' });
  expect(await stored(db, task)).toEqual(before);

  expect(await ledger.planAppend(values)).toMatchObject({ replayed: false });
  expect(await ledger.planAppend(values)).toMatchObject({ replayed: true });
  expect((await db.ledger.planGet(values))?.content).toBe('start\n\nonce');
});

/** Holds the answer to a call on a connection that had broken to what concerns this call. */
function expectOwn(answer: unknown, task: string): void {
  if (answer instanceof PlanledgerError) {
    expect(answer.taskId).toBe(task);
    expect(['connection_lost', 'database_unavailable']).toContain(answer.code);
  } else {
    expect(answer).toMatchObject({ task_id: task, content: 'start' });
  }
}

// The driver keeps an error whose connection broke before it was complete, and gives it to the next call on that
// connection, which it does not send.
test('a refusal cut off by the network is never told to the call after it', async () => {
  const refused = await makeCast(db);
  const other = await makeCast(db);
  for (const { task, agent } of [refused, other]) {
    await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
  }
  const on = { principal: other.agent, task_id: other.task };
  await ledger.planGet(on);
  network.holdAnswers('ready');
  const cutOff = failure(ledger.planReplace({ principal: refused.agent, task_id: refused.task, content: 'x' }));
  setTimeout(() => network.breakConnections(), 200);
  expect((await cutOff).toJSON()).toMatchObject({ code: 'connection_lost', write_applied: 'unknown' });

  expectOwn(await ledger.planGet(on).catch((error: PlanledgerError) => error), other.task);
  expect(await ledger.planGet(on)).toMatchObject({ content: 'start' });
});

test('an administrator ends the backend of a waiting write: connection_lost, nothing written, the pool goes on', async () => {
  const { task, agent } = await makeCast(db);
  await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
  const before = await stored(db, task);
  await db.admin.begin(async (transaction) => {
    await transaction`select pg_advisory_xact_lock(planledger.lock_key('plan', ${task}))`;
    const lost = failure(ledger.planAppend({ principal: agent, task_id: task, fragment: 'x' }));
    await vi.waitFor(async () => {
      const ended = await db.admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where application_name = 'distant' and wait_event = 'advisory'`;
      expect(ended).toHaveLength(1);
    });
    expect((await lost).toJSON()).toMatchObject({ code: 'connection_lost', write_applied: 'unknown' });
  });
  expect(await stored(db, task)).toEqual(before);
  expectOwn(await ledger.planGet({ principal: agent, task_id: task }).catch((error: PlanledgerError) => error), task);
  await ledger.planAppend({ principal: agent, task_id: task, fragment: 'y' });
  expect((await db.ledger.planGet({ principal: agent, task_id: task }))?.content).toBe('start\n\ny');
});
