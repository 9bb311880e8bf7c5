import type { Sql, TransactionSql } from '../postgres/connect.ts';
import { toPlanledgerError, validationError } from './errors.ts';
import { type Ledger, signatures } from './generated.ts';

/**
 * The typed face of the SQL functions: one method for each, one round trip a call, nothing decided here. Arguments
 * that are absent take the function's default. Every failure is a `PlanledgerError`.
 *
 * @param sql A pool, or a transaction begun on one (`sql.begin`), in which several calls then succeed or fail together.
 * @param readers Where functions that only read are called; a pool of its own keeps them from waiting behind writes that
 *   wait for a lock.
 */
export function createLedger(sql: Sql | TransactionSql, readers: Sql | TransactionSql = sql): Ledger {
  const methods = Object.entries(signatures).map(([method, signature]) => [
    method,
    async (values: Record<string, unknown>) => {
      const given = signature.arguments.filter((name) => values[name] !== undefined);
      const taskId = typeof values.task_id === 'string' ? values.task_id : null;
      const operation = signature.operation;
      for (const name of given) {
        const problem = unstorable(values[name]);
        if (problem !== null) throw validationError(name, `${name} ${problem}`, operation, taskId);
      }
      const list = given.map((name, index) => `p_${name} => $${index + 1}`).join(', ');
      const pool = signature.writes ? sql : readers;
      const query = pool.unsafe(
        `select * from planledger.${signature.function}(${list})`,
        given.map((name) => values[name] as string),
        { prepare: 'options' in pool && pool.options.prepare },
      );
      try {
        const rows = await query;
        return signature.many ? [...rows] : (rows[0] ?? null);
      } catch (error) {
        // The driver may reject a call with the error that ended its connection before, in another call; it has
        // state once it was sent.
        const sent = (query as unknown as { state: unknown }).state !== null;
        throw toPlanledgerError(error, operation, taskId, { sent, writes: signature.writes });
      }
    },
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
