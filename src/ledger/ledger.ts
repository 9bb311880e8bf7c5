import type { Sql, TransactionSql } from '../postgres/connect.ts';
import { callCancelled, isCancelled, toPlanledgerError, validationError } from './errors.ts';
import { type Ledger, signatures } from './generated.ts';
import { createTurns } from './turns.ts';

/** What a call may be given besides its arguments. */
export interface CallOptions {
  /**
   * Cancels the call in the database, such as when who asked for it has gone: it then writes nothing and fails with
   * database_unavailable, unless it was done before.
   */
  signal?: AbortSignal | undefined;
}

type Values = Record<string, unknown>;
type Query = ReturnType<Sql['unsafe']>;
type Signature = (typeof signatures)[keyof Ledger];

/**
 * The driver sends a call behind one that is under way on the same connection, and that one may be waiting for a lock;
 * it does not where this, an option of its own transactions, says that there is no room.
 */
const alone = { onexecute: () => false };

/** How long after a cancellation another call may be what it met, in milliseconds. */
const strayMs = 1_000;

/**
 * The typed face of the SQL functions: one method for each, one round trip a call, nothing decided here. Arguments
 * that are absent take the function's default. Every failure is a `PlanledgerError`. Of the writes of one task two are
 * at the database at a time; others wait without a connection.
 *
 * @param sql A pool, or a transaction begun on one (`sql.begin`), in which several calls then succeed or fail together.
 * @param readers Where functions that only read are called; a pool of its own keeps them from waiting behind writes that
 *   wait for a lock.
 */
export function createLedger(sql: Sql | TransactionSql, readers: Sql | TransactionSql = sql): Ledger {
  const inTurn = createTurns();
  let cancelledAt = Number.NEGATIVE_INFINITY;

  const methods = Object.entries(signatures).map(([method, signature]) => [
    method,
    async (values: Values, options: CallOptions = {}) => {
      const { operation } = signature;
      const task_id = typeof values.task_id === 'string' ? values.task_id : null;
      const call = () => send(signature, values, options.signal);
      try {
        options.signal?.throwIfAborted();
        if (!signature.writes || task_id === null) return await call();
        return await inTurn({ key: task_id, operation, signal: options.signal }, call);
      } catch (error) {
        if (options.signal?.aborted && error === options.signal.reason) throw callCancelled(error, operation, task_id);
        throw error;
      }
    },
  ]);
  return Object.fromEntries(methods) as Ledger;

  async function send(signature: Signature, values: Values, signal: AbortSignal | undefined): Promise<unknown> {
    const { operation, writes } = signature;
    const task_id = typeof values.task_id === 'string' ? values.task_id : null;
    const given = signature.arguments.filter((name) => values[name] !== undefined);
    for (const name of given) {
      const problem = unstorable(values[name]);
      if (problem !== null) throw validationError(name, `${name} ${problem}`, operation, task_id);
    }
    const list = given.map((name, index) => `p_${name} => $${index + 1}`).join(', ');
    const pool = writes ? sql : readers;
    const query = pool.unsafe(
      `select * from planledger.${signature.function}(${list})`,
      given.map((name) => values[name] as string),
      { prepare: 'options' in pool && pool.options.prepare, ...alone },
    );
    try {
      const rows = await cancellable(query, signal);
      return signature.many ? [...rows] : (rows[0] ?? null);
    } catch (error) {
      // The server is told which connection to cancel, not which call: one that was just done passes the
      // cancellation on to the next call there. That wrote nothing, and is made again.
      if (isCancelled(error) && !signal?.aborted && performance.now() - cancelledAt < strayMs) {
        return send(signature, values, signal);
      }
      // The driver may reject a call with the error that ended its connection before, in another call; it has
      // state once it was sent.
      const sent = (query as unknown as { state: unknown }).state !== null;
      throw toPlanledgerError(error, operation, task_id, { sent, writes });
    }
  }

  /** The rows of a query that the signal cancels in the database. */
  async function cancellable(query: Query, signal: AbortSignal | undefined) {
    if (signal === undefined) return query;
    const onAbort = () => {
      cancelledAt = performance.now();
      // Where the server cannot be told, the call goes on, and its own outcome says how it ended.
      Promise.resolve(query.cancel()).then(
        () => {
          cancelledAt = performance.now();
        },
        () => {},
      );
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await query;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}

/** The same facade, with every call cancelled by `signal`. */
export function withSignal(ledger: Ledger, signal: AbortSignal): Ledger {
  const methods = Object.entries(ledger).map(([method, call]) => [
    method,
    (values: Values) => (call as (values: Values, options: CallOptions) => unknown)(values, { signal }),
  ]);
  return Object.fromEntries(methods) as Ledger;
}

/**
 * Why PostgreSQL could not hold a text as it is, or null. A driver would replace a lone surrogate silently, so such
 * text is refused before it gets there.
 */
export function unstorable(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  if (value.includes('\0')) return 'holds the character U+0000, which cannot be stored.';
  if (!value.isWellFormed()) return 'holds half of a surrogate pair, which is not a character and cannot be stored.';
  return null;
}
