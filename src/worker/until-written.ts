import { setTimeout as sleep } from 'node:timers/promises';
import { PlanledgerError } from '../ledger/errors.ts';

const pauseMs = 500;
const passing = new Set<string>(['database_unavailable', 'connection_lost', 'plan_busy']);

/**
 * Makes a call again and again while the database cannot be reached, for `ms` milliseconds at most: it carries the token
 * of a lease, and does nothing once that has ended.
 *
 * @throws PlanledgerError
 */
export type UntilWritten = <T>(call: () => Promise<T>, ms: number) => Promise<T>;

/** @param signal Aborted when the connections end: then nothing is tried again. */
export function createUntilWritten(signal: AbortSignal): UntilWritten {
  return async (call, ms) => {
    for (const end = performance.now() + ms; ; ) {
      try {
        return await call();
      } catch (error) {
        const passes = error instanceof PlanledgerError && passing.has(error.code);
        if (!passes || performance.now() > end || signal.aborted) throw error;
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => {}); // the last try says why it failed
    }
  };
}
