import { PlanledgerError, toPlanledgerError } from '../ledger/errors.ts';
import type { Delivery, Ledger } from '../ledger/generated.ts';
import { type AnyCall, aroundCalls, inTransaction, type Transaction } from '../ledger/ledger.ts';
import { poolLike, type Sql } from '../postgres/connect.ts';

/** A prompt that is about to be accepted, as it was requested: the arguments of the method of the ledger. */
export interface TurnStart {
  readonly method: (typeof methods)[number];
  readonly task_id: string;
  readonly session_id: string;
  readonly content: string;
  readonly [argument: string]: unknown;
}

/**
 * Is called before a prompt is accepted, when nothing stands against it, and while nobody else can change the task's
 * comments or have a prompt accepted. What it does should bear to be done twice: should the server be killed while it
 * runs, the client asks again.
 *
 * @param signal Aborted when its time is over (`settings.lock_wait` × ⅔, 10 seconds by default, for all hooks together),
 *   the client is gone, or the lease is lost.
 * @returns Where the prompt goes instead, if not to `session_id`: another session of the task.
 * @throws TurnStartRefusal, or an error of that name, to refuse the prompt. Anything else refuses it too, but shows
 *   nothing of it.
 */
export type TurnStartHook = (
  start: TurnStart,
  signal: AbortSignal,
) => Promise<{ session_id: string } | undefined> | { session_id: string } | undefined;

/** Refuses a prompt (turn_start_failed) with a message for whoever sent it. */
export class TurnStartRefusal extends Error {
  override name = 'TurnStartRefusal';
}

/** @see withTurnStartHooks */
export interface TurnStartOptions {
  /** The pool of `ledger`, of two connections or more: while one accepts a prompt, another holds the lease. */
  sql: Sql;
  /** Called one after the other; the last that names a session decides. */
  hooks: readonly TurnStartHook[];
}

const methods = ['messageAdd', 'queueAdd', 'queueAppend'] as const;

/**
 * The same facade, whose acceptances of prompts wait for hooks. They run while a transaction of its own, on a connection
 * of its own, holds the admission lease; when that connection is lost, nothing is accepted.
 *
 * @throws TypeError for a pool of one connection.
 */
export function withTurnStartHooks(
  ledger: Ledger,
  { sql, hooks }: TurnStartOptions,
): { ledger: Ledger; close(): Promise<void> } {
  if (sql.options.max < 2) {
    throw new TypeError('Turn-start hooks need a pool of two connections or more: one holds the lease, one accepts.');
  }
  const leases = poolLike(sql, sql.options.max - 1, 'planledger leases');
  return {
    ledger: aroundCalls(ledger, (call, method) => {
      const hooked = methods.find((one) => one === method);
      return hooked === undefined ? call : (values, options) => admit(hooked, call, values, options?.signal);
    }),
    close: () => leases.end({ timeout: 1 }),
  };

  async function admit(
    method: (typeof methods)[number],
    accept: AnyCall,
    values: Record<string, unknown>,
    signal = new AbortController().signal,
  ): Promise<unknown> {
    const lost = new AbortController();
    let admitted: Promise<unknown> | undefined;
    await inTransaction(leases, signal, (transaction) => {
      admitted = admitUnder(transaction);
      return admitted;
    }).catch((error: unknown) => {
      lost.abort();
      admitted ??= Promise.reject(error);
    });
    // Where the lease was lost meanwhile, the database refuses what comes after; what it accepted before is accepted.
    try {
      return await admitted;
    } catch (error) {
      throw toPlanledgerError(error, 'start_turn', String(values.task_id));
    }

    async function admitUnder({ ledger: leased, rehearse }: Transaction): Promise<unknown> {
      const { principal, task_id } = values as { principal: string; task_id: string };
      const { lease, hooks_max_ms } = await leased.admissionLease({ principal, task_id });
      const before = await rehearse((rehearsed) => (rehearsed[method] as AnyCall)(values));
      if ((before as Delivery).replayed) return before;
      const start = { ...values, method } as unknown as TurnStart;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(hooks_max_ms)]);
      const rerouted_session_id = await run(hooks, start, limit, lost.signal);
      // The hooks have done what they do: from here on the prompt is accepted though its client may have gone.
      return await accept({ ...values, lease, ...(rerouted_session_id && { rerouted_session_id }) });
    }
  }
}

async function run(
  hooks: readonly TurnStartHook[],
  start: TurnStart,
  limit: AbortSignal,
  lost: AbortSignal,
): Promise<string | undefined> {
  let sessionId: string | undefined;
  const over = new Promise<never>((_, reject) =>
    limit.addEventListener('abort', () => reject(limit.reason), { once: true }),
  );
  over.catch(() => {}); // where no hook waits for it
  try {
    for (const hook of hooks) {
      limit.throwIfAborted();
      const routed = await Promise.race([hook(start, AbortSignal.any([limit, lost])), over]);
      sessionId = sessionOf(routed) ?? sessionId;
    }
  } catch (error) {
    throw failed(error, start.task_id);
  }
  return sessionId;
}

/** A hook may be plain JavaScript: what is no answer must not pass for none. */
function sessionOf(answer: unknown): string | undefined {
  if (answer === undefined || answer === null) return undefined;
  const { session_id } = answer as { session_id?: unknown };
  if (typeof session_id === 'string' && session_id !== '') return session_id;
  throw new TypeError('A hook answers { session_id } or nothing.');
}

/** The message of a refusal, as far as people read one; null for any other error. */
function refusalOf(thrown: unknown): string | null {
  try {
    if (!(thrown instanceof Error) || thrown.name !== 'TurnStartRefusal') return null;
    return thrown.message.slice(0, 1_000).toWellFormed().replaceAll('\0', '\ufffd');
  } catch {
    return null; // it only looks like one
  }
}

function failed(cause: unknown, taskId: string): PlanledgerError {
  const facts = { operation: 'start_turn', taskId };
  // A module of hooks may have a copy of this package of its own, or none.
  const refusal = refusalOf(cause);
  if (refusal !== null) {
    return new PlanledgerError('turn_start_failed', `${refusal} Nothing was sent.`, {
      ...facts,
      nextAction: 'Do what the message says, then make the same call again.',
    });
  }
  const message = 'A turn-start hook of this server failed or took too long. Nothing was sent.';
  return new PlanledgerError('turn_start_failed', message, {
    ...facts,
    nextAction: 'Make the same call again; when that fails too, tell an administrator, who finds the cause in the log.',
    cause,
  });
}
