import type { Sql } from '../postgres/connect.ts';
import { toPlanledgerError, validationError } from './errors.ts';
import { type Ledger, signatures } from './generated.ts';

/**
 * The typed face of the SQL functions: one method for each, one round trip a call, nothing decided here. Arguments
 * that are absent take the function's default. Every failure is a `PlanledgerError`.
 */
export function createLedger(sql: Sql): Ledger {
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
      try {
        const rows = await sql.unsafe(
          `select * from planledger.${signature.function}(${list})`,
          given.map((name) => values[name] as string),
          { prepare: sql.options.prepare },
        );
        return signature.many ? [...rows] : (rows[0] ?? null);
      } catch (error) {
        throw toPlanledgerError(error, operation, taskId, signature.writes);
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
