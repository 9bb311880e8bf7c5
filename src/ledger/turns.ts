import { PlanledgerError } from './errors.ts';

/** How many writes of one task may be at the database at once: one that has the lock, and one that waits for it. */
const atOnce = 2;

interface Waiter {
  /** When it came, in milliseconds of a monotonic clock. */
  since: number;
  go(): void;
  refuse(error: PlanledgerError): void;
}

interface Line {
  running: number;
  waiting: Waiter[];
}

/** What a call says of itself while it waits. */
export interface TurnOptions {
  /** Calls of the same key take turns. */
  key: string;
  operation: string;
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
}

/**
 * Lets the writes of one task take turns within a process, so that those waiting for one task's lock hold two
 * connections and not the whole pool. The lock lets through one at a time anyhow.
 *
 * A waiting call is told plan_busy when one that began after it was: it has then waited at least as long as the
 * database would have let it.
 */
export function createTurns(): <T>(options: TurnOptions, call: () => Promise<T>) => Promise<T> {
  const lines = new Map<string, Line>();

  return async (options, call) => {
    const { key } = options;
    const line = lines.get(key) ?? { running: 0, waiting: [] };
    lines.set(key, line);
    if (line.running < atOnce) line.running += 1;
    else await turn(line, options);
    const began = performance.now();
    try {
      return await call();
    } catch (error) {
      if (error instanceof PlanledgerError && error.code === 'plan_busy') refuseThoseBefore(line, began, error);
      throw error;
    } finally {
      const next = line.waiting.shift();
      if (next !== undefined) next.go();
      else line.running -= 1;
      if (line.running === 0) lines.delete(key);
    }
  };
}

/** Waits for a place in the line, which the call that leaves hands over. */
function turn(line: Line, { operation, signal }: TurnOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = () => {
      line.waiting.splice(line.waiting.indexOf(waiter), 1);
      reject(signal?.reason);
    };
    const waiter: Waiter = {
      since: performance.now(),
      go() {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      refuse(error) {
        signal?.removeEventListener('abort', onAbort);
        reject(
          new PlanledgerError(error.code, error.message, {
            operation,
            taskId: error.taskId,
            nextAction: error.nextAction,
            details: error.details,
          }),
        );
      },
    };
    line.waiting.push(waiter);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

function refuseThoseBefore(line: Line, began: number, error: PlanledgerError): void {
  const refused = line.waiting.filter(({ since }) => since <= began);
  line.waiting = line.waiting.filter(({ since }) => since > began);
  for (const waiter of refused) waiter.refuse(error);
}
