import type { Logger } from 'pino';
import type { PlanledgerError } from '../ledger/errors.ts';

/**
 * Logs what an administrator has to know of a failure: never its message, which may hold text, and no refusal, which
 * is an answer like any other.
 */
export function logFailure(logger: Logger, failure: PlanledgerError): void {
  if (failure.cause === undefined || failure.code === 'unauthenticated') return;
  const { code, operation, taskId } = failure;
  const cause = failure.cause;
  const sqlstate = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
  if (sqlstate?.startsWith('TP') === true) return;
  const facts = {
    code,
    operation,
    task_id: taskId,
    sqlstate,
    cause: cause instanceof Error ? cause.name : typeof cause,
  };
  const isOurs = code === 'internal_error' || code === 'turn_start_failed';
  if (isOurs) logger.error({ ...facts, at: frames(cause) }, 'call failed');
  else logger.warn(facts, 'call failed');
}

/** Where an error was thrown, without its message. */
function frames(cause: unknown): string[] {
  const stack = cause instanceof Error ? (cause.stack ?? '') : '';
  return stack
    .split('\n')
    .filter((line) => /^\s+at .*:\d+:\d+\)?$/.test(line))
    .slice(0, 5)
    .map((line) => line.trim());
}
