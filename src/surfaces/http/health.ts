import type { FastifyInstance } from 'fastify';
import type { Ledger } from '../../ledger/generated.ts';
import type { Sql } from '../../postgres/connect.ts';
import { installationState, MigrationError } from '../../postgres/migrate.ts';

/** `/healthz`: the process runs. `/readyz`: its database answers and is migrated, or 503 with the reason. */
export function healthRoutes(app: FastifyInstance, ready: () => Promise<void>): void {
  app.get('/healthz', () => ({ status: 'ok' }));
  app.get('/readyz', async (_request, reply) => {
    try {
      await ready();
      return { status: 'ready' };
    } catch (error) {
      const reason = error instanceof MigrationError ? error.message : 'The database cannot be reached.';
      return reply.code(503).header('retry-after', '1').send({ status: 'not ready', reason });
    }
  });
}

/** Whether the database answers and has the schema and functions of this program. */
export async function requireReady(sql: Sql, ledger: Ledger): Promise<void> {
  const rows = await sql`select to_regprocedure('planledger.installation()') is not null as installed`;
  // The last: the driver may leave a hole before it, see cancellableQuery.
  if (rows.at(-1)?.installed !== true)
    throw new MigrationError('The database is not migrated: run `planledger migrate`.');
  const { problems } = await installationState(await ledger.installation({}));
  if (problems.length > 0) {
    throw new MigrationError(`The database is not current (${problems.join('; ')}): run \`planledger migrate\`.`);
  }
}
