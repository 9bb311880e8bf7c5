import { expect } from 'vitest';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import type { Fixture } from '../support/fixture.ts';

/** One connection of the role production uses, with transactions under the test's control. */
export interface Session {
  pid: number;
  sql: Sql;
  ledger: Ledger;
  begin(isolation?: string): Promise<void>;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export async function openSession(db: Fixture, applicationName: string): Promise<Session> {
  const sql = await connect(db.url, { max: 1, applicationName });
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  const run = async (statement: string) => void (await sql.unsafe(statement));
  return {
    pid: row?.pid ?? expect.unreachable('a backend has a pid'),
    sql,
    ledger: createLedger(sql),
    begin: (isolation = 'read committed') => run(`begin isolation level ${isolation}`),
    commit: () => run('commit'),
    rollback: () => run('rollback'),
  };
}

export async function closeSessions(...sessions: Session[]): Promise<void> {
  await Promise.all(sessions.map(({ sql }) => sql.end({ timeout: 5 })));
}

const patience = 10_000; // milliseconds

/** Looks again and again until `look` finds something. */
export async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const started = performance.now(); performance.now() - started < patience; ) {
    const found = await look();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return expect.unreachable(`never seen: ${what}`);
}

/** Sees `waiter` wait for the lock of `task` that `holder` has, in the server's own view and in ours. */
export async function waitsFor({ admin }: Fixture, waiter: Session, holder: Session, task: string): Promise<void> {
  await until(`backend ${waiter.pid} waiting for backend ${holder.pid}`, async () => {
    const [row] = await admin<{ blocked: number[] }[]>`
      select pg_blocking_pids(pid) as blocked from pg_stat_activity
      where pid = ${waiter.pid} and state = 'active' and wait_event_type = 'Lock'`;
    return row?.blocked.includes(holder.pid) ? row : undefined;
  });
  const locks = await admin`
    select pid, state, blocked_by from planledger.locks where task_id = ${task}`;
  expect(locks).toEqual(
    expect.arrayContaining([
      { pid: holder.pid, state: 'holds', blocked_by: expect.anything() },
      { pid: waiter.pid, state: 'waits', blocked_by: [holder.pid] },
    ]),
  );
}
