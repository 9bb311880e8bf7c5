import { vi } from 'vitest';
import type { Sql } from '../../../src/postgres/connect.ts';

/** Holds the plan lock of a task in a transaction of its own until the function it answers is called. */
export async function holdPlanLock(admin: Sql, task: string): Promise<() => Promise<void>> {
  const holder = await admin.reserve();
  await holder`begin`;
  await holder`select pg_advisory_xact_lock(planledger.lock_key('plan', ${task}))`;
  return async () => {
    try {
      await holder`commit`;
    } finally {
      holder.release();
    }
  };
}

/** Waits until `count` backends of that application wait for an advisory lock, and answers their process ids. */
export async function untilWaiting(admin: Sql, applicationName: string, count = 1): Promise<number[]> {
  return await vi.waitFor(
    async () => {
      const rows = await admin<{ pid: number }[]>`
        select pid from pg_stat_activity
        where datname = current_database() and application_name = ${applicationName}
          and wait_event_type = 'Lock' and wait_event = 'advisory'`;
      if (rows.length !== count) throw new Error(`${rows.length} of ${count} ${applicationName} wait`);
      return rows.map(({ pid }) => pid);
    },
    { timeout: 10_000, interval: 20 },
  );
}

/** Which of these backends are still there. */
export async function backendsAlive(admin: Sql, pids: number[]): Promise<number[]> {
  const rows = await admin<{ pid: number }[]>`select pid from pg_stat_activity where pid = any (${pids})`;
  return rows.map(({ pid }) => pid);
}
