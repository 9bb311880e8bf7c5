import { setTimeout as sleep } from 'node:timers/promises';
import type { Row } from 'postgres';
import type { Sql, TransactionSql } from '../postgres/connect.ts';
import { isCancelled } from './errors.ts';

/** What the driver knows of a query and does not declare. */
interface DriverQuery extends ReturnType<Sql['unsafe']> {
  /** The server's process that has it; null until it is sent. */
  state: { pid: number } | null;
  /** Whether it is what that process is doing. */
  active: boolean;
  /** Asks the server to cancel what that process is doing; `cancel()` does so once only. */
  canceller(query: DriverQuery): Promise<void>;
}

/**
 * The driver sends a query behind one that is under way on the same connection, and that one may be waiting for a lock;
 * it does not where this, an option of its own transactions, says that there is no room.
 */
const alone = { onexecute: () => false };

/** How long a cancellation that the server has taken may need to reach its process, in milliseconds. */
const strayMs = 200;

/** How long we wait for the server to take a cancellation, in milliseconds: a network may swallow it. */
const takenMs = 5_000;

/** How often a call is made again at most. One cancellation meets one call. */
const repeatsMax = 2;

/** The server processes that a cancellation may reach when they are at another query, with how many may. */
const strays = new Map<number, number>();

/** Where a query goes and what is to be known of it. */
export interface QueryContext {
  pool: Sql | TransactionSql;
  /** Set when the query is over: whether it was handed to a connection. */
  progress: { sent: boolean };
  /** Cancels the query in the server, once it is there: the driver loses a connection when it is told earlier. */
  signal: AbortSignal | undefined;
}

/** The rows of a query, which `signal` cancels. */
export async function cancellableQuery(context: QueryContext, text: string, parameters: string[]): Promise<Row[]> {
  for (let repeats = 0; ; repeats += 1) {
    const rows = await attempt(context, text, parameters, repeats < repeatsMax);
    if (rows !== 'stray') return rows;
  }
}

/** The rows, or `stray` when the cancellation of the query before it was what it met: that wrote nothing. */
async function attempt(
  context: QueryContext,
  text: string,
  parameters: string[],
  mayRepeat: boolean,
): Promise<Row[] | 'stray'> {
  const { pool, progress, signal } = context;
  const prepare = 'options' in pool && pool.options.prepare;
  const query = pool.unsafe(text, parameters, { prepare, ...alone }) as DriverQuery;
  let cancelled = false;
  let over = false;
  /** Asks again until the query is over: the server ignores a cancellation that comes before what it is to cancel. */
  const onAbort = async () => {
    for (let pause = 5; !over; pause = Math.min(2 * pause, 500)) {
      if (query.state !== null && query.active) {
        cancelled = true;
        await mayStray(query.state.pid, query.canceller(query));
      }
      await sleep(pause, undefined, { ref: false });
    }
  };
  if (signal?.aborted) void onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  try {
    // After a query that failed behind a row of its answer, the driver leaves a hole before the next query's rows.
    return (await query).filter(() => true);
  } catch (error) {
    // A transaction has failed with it and cannot go on.
    const repeatable = mayRepeat && 'options' in pool && !cancelled && isCancelled(error);
    if (repeatable && query.state !== null && strays.has(query.state.pid)) return 'stray';
    throw error;
  } finally {
    progress.sent = query.state !== null;
    over = true;
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Marks a server process while a cancellation is under way to it, and for a moment after. */
async function mayStray(pid: number, cancellation: Promise<void>): Promise<void> {
  strays.set(pid, (strays.get(pid) ?? 0) + 1);
  const taken = cancellation.catch(() => {}); // the outcome of the query says how it ended
  await Promise.race([taken, sleep(takenMs, undefined, { ref: false })]);
  setTimeout(() => {
    const others = (strays.get(pid) ?? 1) - 1;
    if (others === 0) strays.delete(pid);
    else strays.set(pid, others);
  }, strayMs).unref();
}
