import type { Command } from 'commander';
import { openJobPool } from '../../postgres/job-queue.ts';
import { migrate } from '../../postgres/migrate.ts';
import { agentsOption, findAgents } from './agents.ts';
import { requireDatabaseUrl } from './caller.ts';
import { errorCode, UsageError } from './failure.ts';
import { runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';
import { printLine } from './output.ts';

/** `planledger worker`. */
export function addWorkerCommand(program: Command): void {
  program
    .command('worker')
    .description(
      'run jobs on a database: deliver prompts to agents, put right what dead workers left, prune; any number may share one',
    )
    .option('--database-url <url>', 'database to use (default: DATABASE_URL)')
    .option('--agents <file>', agentsOption)
    .action(work);
}

async function work(options: { databaseUrl?: string; agents?: string }): Promise<void> {
  const databaseUrl = requireDatabaseUrl(options);
  const agents = await findAgents(options.agents);
  const logger = openLog('info');
  await runUntilStopped(async (life) => {
    await migrate(databaseUrl, (line) => logger.info(line));
    life.signal.throwIfAborted();
    const { startWorker } = await import('../../worker/worker.ts');
    await requireDirectConnection(databaseUrl);
    const worker = startWorker({ databaseUrl, logger, agents });
    life.defer(() => worker.close());
    printLine('Planledger runs jobs.');
    if (agents.size > 0) printLine(`It reaches the agents ${[...agents.keys()].join(', ')}.`);
  });
}

async function requireDirectConnection(databaseUrl: string): Promise<void> {
  const pool = openJobPool(databaseUrl, { max: 1 });
  try {
    const { rows } = await pool.query("select current_user = 'planledger_worker' as direct");
    if (rows[0].direct) return;
  } catch (error) {
    if (errorCode(error) !== '08P01') throw error;
  } finally {
    await pool.end();
  }
  throw new UsageError(
    '`planledger worker` needs a direct connection to PostgreSQL, and this one goes through a PgBouncer.',
    'Give it the URL of PostgreSQL itself; it opens up to 21 connections.',
  );
}
