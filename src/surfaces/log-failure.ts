import type { Logger } from 'pino';
import type { PlanledgerError } from '../ledger/errors.ts';

/**
 * Logs what an administrator has to know of a failure: never its message, which may hold text, and no refusal, which
 * is an answer like any other.
 */
export function logFailure(logger: Logger, failure: PlanledgerError): void {
  if (failure.cause === undefined || failure.code === 'unauthenticated') return;
  const { code, operation, taskId } = failure;
  const { sqlstate, name, at } = described(failure.cause);
  if (sqlstate?.startsWith('TP') === true) return;
  const facts = { code, operation, task_id: taskId, sqlstate, cause: name };
  const isOurs = code === 'internal_error' || code === 'turn_start_failed';
  if (isOurs) logger.error({ ...facts, at }, 'call failed');
  else logger.warn(facts, 'call failed');
}

/** What was thrown, without its message. A hook may throw anything, also what cannot be read. */
function described(thrown: unknown): { sqlstate: string | null; name: string; at: string[] } {
  try {
    if (!(thrown instanceof Error)) return { sqlstate: null, name: typeof thrown, at: [] };
    const sqlstate = 'code' in thrown ? String(thrown.code) : null;
    return { sqlstate, name: String(thrown.name), at: frames(thrown.stack) };
  } catch {
    return { sqlstate: null, name: 'unreadable', at: [] };
  }
}

function frames(stack = ''): string[] {
  return stack
    .split('\n')
    .filter((line) => /^\s+at .*:\d+:\d+\)?$/.test(line))
    .slice(0, 5)
    .map((line) => line.trim());
}
