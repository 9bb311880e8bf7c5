import { setImmediate as immediate } from 'node:timers/promises';
import type { Sql, TransactionSql } from '../postgres/connect.ts';
import { cancellableQuery } from './cancellation.ts';
import { callCancelled, connectionLost, toPlanledgerError, validationError } from './errors.ts';
import { type Ledger, signatures } from './generated.ts';
import { createPlaces, type Places } from './places.ts';

/** What a call may be given besides its arguments. */
export interface CallOptions {
  /**
   * Cancels a write in the database, such as when who asked for it has gone: it then writes nothing and fails with
   * database_unavailable, unless it was done before. A call that only reads ends soon anyway, and is not disturbed.
   */
  signal?: AbortSignal | undefined;
}

type Values = Record<string, unknown>;
type Signature = (typeof signatures)[keyof Ledger];

/**
 * The typed face of the SQL functions: one method for each, one round trip a call, nothing decided here. Arguments
 * that are absent take the function's default, or null where it has none, which it then refuses by name. Every failure
 * is a `PlanledgerError`.
 *
 * @param sql A pool, or a transaction begun on one (`sql.begin`), in which several calls then succeed or fail together.
 *   Where calls are cancelled (`CallOptions.signal`) it should be a pool for the facade alone: the server is told which
 *   connection to cancel, so a cancellation that comes late can meet whatever is done there next.
 * @param readers Where functions that only read are called; a pool of its own keeps them from waiting behind writes that
 *   wait for a lock.
 */
export function createLedger(sql: Sql | TransactionSql, readers: Sql | TransactionSql = sql): Ledger {
  const methods = Object.entries(signatures).map(([method, signature]) => [
    method,
    (values: Values, options: CallOptions = {}) => call(signature, signature.writes ? sql : readers, values, options),
  ]);
  return Object.fromEntries(methods) as Ledger;
}

async function call(signature: Signature, pool: Sql | TransactionSql, values: Values, options: CallOptions) {
  const { operation, writes } = signature;
  const taskId = typeof values.task_id === 'string' ? values.task_id : null;
  const given = signature.arguments.filter((name, at) => at < signature.required || values[name] !== undefined);
  for (const name of given) {
    const problem = unstorable(values[name]);
    if (problem !== null) throw validationError(name, `${name} ${problem}`, operation, taskId);
  }
  const list = given.map((name, index) => `p_${name} => $${index + 1}`).join(', ');
  const text = `select * from planledger.${signature.function}(${list})`;
  const parameters = given.map((name) => (values[name] ?? null) as string);
  const signal = writes ? options.signal : undefined;
  // Whether it was handed to a connection; what was not sent wrote nothing.
  const progress = { sent: false, writes };
  try {
    const send = () => cancellableQuery({ pool, progress, signal }, text, parameters);
    const rows = await ('options' in pool ? placesOf(pool).run(send, signal) : send());
    return signature.many ? [...rows] : (rows[0] ?? null);
  } catch (error) {
    if (signal?.aborted && error === signal.reason) throw callCancelled(error, operation, taskId);
    throw toPlanledgerError(error, operation, taskId, progress);
  }
}

/** A transaction under way. */
export interface Transaction {
  ledger: Ledger;
  /** Answers what `work` would, and takes back what it does. */
  rehearse<T>(work: (ledger: Ledger) => Promise<T>): Promise<T>;
}

/**
 * Runs several calls in one transaction, so that they succeed or fail together. Like a single call it waits for a place
 * in the pool and leaves that queue with `signal`, which cancels its writes too.
 *
 * @throws PlanledgerError of a call; the reason of `signal` before it began; the driver's error where it cannot begin
 *   or commit, or its connection is lost: at once then, whatever `work` is doing.
 */
export async function inTransaction<T>(
  sql: Sql,
  signal: AbortSignal,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  let lost = false;
  const losing = Promise.withResolvers<never>();
  losing.promise.catch(() => {}); // where nothing is rehearsed meanwhile
  return (await placesOf(sql).run(begin, signal)) as T;

  async function begin(): Promise<unknown> {
    try {
      return await sql.begin((connection) =>
        whileThere(() => work({ ledger: on(connection), rehearse: rehearseOn(connection) })),
      );
    } catch (error) {
      lost = true;
      losing.reject(error);
      throw error;
    }
  }

  function on(connection: TransactionSql): Ledger {
    return aroundCalls(withSignal(createLedger(connection), signal), (call) => async (values) => {
      if (lost) throw connectionLost();
      return await call(values);
    });
  }

  function rehearseOn(connection: TransactionSql): Transaction['rehearse'] {
    return async (rehearsal) => {
      const takenBack = new Error('taken back');
      let answer: unknown;
      const savepoint = connection.savepoint((inner) =>
        whileThere(async () => {
          answer = await rehearsal(on(inner));
          throw takenBack;
        }),
      );
      await Promise.race([savepoint, losing.promise]).catch((error: unknown) => {
        if (error !== takenBack) throw error;
      });
      return answer as Awaited<ReturnType<typeof rehearsal>>;
    };
  }

  /** Once a connection is lost, the end of a transaction must not be asked of it: the driver would end the process. */
  async function whileThere<R>(part: () => Promise<R>): Promise<R> {
    try {
      return await part();
    } finally {
      await immediate(); // by then a loss that made it fail is known
      if (lost) await new Promise(() => {});
    }
  }
}

const places = new WeakMap<Sql, Places>();

/** As many calls as the pool has connections: a call whose caller goes can leave our queue, and not the driver's. */
function placesOf(pool: Sql): Places {
  let found = places.get(pool);
  if (found === undefined) {
    found = createPlaces(pool.options.max);
    places.set(pool, found);
  }
  return found;
}

/** The same facade, with every write cancelled by `signal`. */
export function withSignal(ledger: Ledger, signal: AbortSignal): Ledger {
  return aroundCalls(ledger, (call) => (values) => call(values, { signal }));
}

/** A method of the facade, whichever. */
export type AnyCall = (values: Values, options?: CallOptions) => Promise<unknown>;

/** The same facade, with `around` each of its methods. */
export function aroundCalls(ledger: Ledger, around: (call: AnyCall, method: keyof Ledger) => AnyCall): Ledger {
  const methods = Object.entries(ledger).map(([method, call]) => [
    method,
    around(call as AnyCall, method as keyof Ledger),
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
