import type postgres from 'postgres';
import { expect, test } from 'vitest';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { stored } from '../sql/observe.ts';
import { type Cast, makeCast, useDatabase } from '../support/fixture.ts';
import { holdPlanLock, untilWaiting } from './support/locks.ts';
import { startWorker } from './support/processes.ts';

const db = useDatabase();

async function makePlan(): Promise<Cast> {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'start' });
  return cast;
}

async function contentOf({ agent, task }: Cast): Promise<string | undefined> {
  return (await db.ledger.planGet({ principal: agent, task_id: task }))?.content;
}

/** One connection as the server makes them, with a name of its own to be found by. */
async function withClient<T>(applicationName: string, use: (sql: Sql) => Promise<T>): Promise<T> {
  const sql = await connect(db.url, { max: 1, applicationName });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const append = (sql: postgres.ISql, { agent, task }: Cast, fragment: string) =>
  sql`select * from planledger.plan_append(${agent}, ${task}, ${fragment})`;

async function sqlStateOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = (await call.then(
    () => new Error('was not refused'),
    (reason: unknown) => reason,
  )) as postgres.PostgresError;
  return error.code ?? error.message;
}

test.each<[string, (sql: Sql, waiting: postgres.PendingQuery<postgres.Row[]>, pid: number) => Promise<unknown>]>([
  ['its statement_timeout passes', async () => {}],
  ['an administrator cancels it', (_, _waiting, pid) => db.admin`select pg_cancel_backend(${pid})`],
  ['its caller cancels it', async (_, waiting) => waiting.cancel()],
])('a write that waits when %s ends as cancelled, writes nothing and blocks nobody', async (how, cancel) => {
  const cast = await makePlan();
  const release = await holdPlanLock(db.admin, cast.task);
  await withClient('cancelled', async (sql) => {
    if (how.includes('statement_timeout')) await sql`set statement_timeout = '400ms'`;
    const waiting = append(sql, cast, 'cancelled');
    const state = sqlStateOf(waiting);
    const [pid] = await untilWaiting(db.admin, 'cancelled');
    const behind = db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'behind' });
    await untilWaiting(db.admin, 'test app');
    const before = await stored(db, cast.task);
    await cancel(sql, waiting, pid ?? 0);
    expect(await state).toBe('57014');
    expect(await stored(db, cast.task)).toEqual(before);
    // Nothing of it is left in the queue, and its connection is as good as before.
    await untilWaiting(db.admin, 'cancelled', 0);
    expect(await db.admin`select from planledger.locks where application_name = 'cancelled'`).toHaveLength(0);
    await release();
    await behind;
    await append(sql, cast, 'again');
  });
  expect(await contentOf(cast)).toBe('start\n\nbehind\n\nagain');
});

test('a write cancelled inside a transaction leaves what was written before its savepoint, and the lock to it', async () => {
  const cast = await makePlan();
  const other = await makePlan();
  const release = await holdPlanLock(db.admin, cast.task);
  await withClient('cancelled', async (sql) => {
    await sql.begin(async (transaction) => {
      await append(transaction, other, 'kept');
      const cancelled = transaction.savepoint((nested) => append(nested, cast, 'cancelled'));
      const state = sqlStateOf(cancelled);
      const [pid] = await untilWaiting(db.admin, 'cancelled');
      await db.admin`select pg_cancel_backend(${pid ?? 0})`;
      expect(await state).toBe('57014');
    });
  });
  await release();
  expect(await contentOf(cast)).toBe('start');
  expect(await contentOf(other)).toBe('start\n\nkept');
});

test('a client frozen while it holds the lock is ended by idle_in_transaction_session_timeout, and the next writer goes on', async () => {
  const cast = await makePlan();
  const { task, agent } = cast;
  const before = await stored(db, task);
  const frozen = startWorker('hold', {
    url: db.url,
    applicationName: 'frozen',
    principal: agent,
    task,
    idleTimeout: 1500,
  });
  await frozen.until('holding');
  frozen.kill('SIGSTOP');
  const next = db.ledger.planAppend({ principal: agent, task_id: task, fragment: 'next' });
  await untilWaiting(db.admin, 'test app');
  expect(await stored(db, task)).toEqual(before);
  expect(await next).toMatchObject({ outcome: 'appended' });
  expect(await contentOf(cast)).toBe('start\n\nnext');

  // Awake again, it cannot commit what it had begun.
  frozen.kill('SIGCONT');
  frozen.tell('go on');
  await frozen.until('rolled back');
  expect(frozen.of('committed')).toEqual([]);
  expect(await contentOf(cast)).toBe('start\n\nnext');
});

test('a client killed while it holds the lock frees it at once', async () => {
  const cast = await makePlan();
  const { task, agent } = cast;
  const holder = startWorker('hold', { url: db.url, applicationName: 'holder', principal: agent, task });
  await holder.until('holding');
  const next = db.ledger.planAppend({ principal: agent, task_id: task, fragment: 'next' });
  await untilWaiting(db.admin, 'test app');
  const killed = Date.now();
  holder.kill();
  await next;
  expect(Date.now() - killed).toBeLessThan(1000);
  expect(await contentOf(cast)).toBe('start\n\nnext');
});

test('connections check for a vanished client every second and bound their waits', async () => {
  const [settings] = await db.app`
    select current_setting('client_connection_check_interval') as look,
      current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('lock_timeout') as wait, current_user as role`;
  expect(settings).toEqual({ look: '1s', idle: '1min', wait: '15s', role: 'planledger_app' });
});
