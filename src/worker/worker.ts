import { setTimeout as sleep } from 'node:timers/promises';
import { Logger as JobLogger, type Runner, run } from 'graphile-worker';
import type { Logger } from 'pino';
import { jobSchema, openJobPool } from '../postgres/job-queue.ts';
import { prune, pruneSchedule } from './prune.ts';

/** @see startWorker */
export interface WorkerOptions {
  /** A connection string of the server itself: PgBouncer keeps no session, in which jobs are listened for. */
  databaseUrl: string;
  logger: Logger;
}

/** @see startWorker */
export interface Worker {
  /** Lets the jobs under way finish, for a few seconds at most, and ends the connections. */
  close(): Promise<void>;
}

const retryMs = 2_000;
const finishMs = 5_000;

/**
 * Runs jobs and the schedule as `planledger_worker` until it is closed. Any number of workers may share a database, and
 * one that loses it begins again when it is back.
 */
export function startWorker({ databaseUrl, logger }: WorkerOptions): Worker {
  const pool = openJobPool(databaseUrl, { max: 4 });
  const closing = new AbortController();
  let runner: Runner | undefined;
  const ended = runAgainAndAgain();

  return {
    async close() {
      closing.abort();
      const stopped = runner?.stop('the worker stops').catch(() => {}); // it stops by itself already
      const late = sleep(finishMs, 'late', { ref: false });
      if ((await Promise.race([Promise.all([stopped, ended]), late])) === 'late') {
        logger.warn('jobs under way are given up; another worker does them');
        void runner?.kill('the worker was told to stop').catch(() => {});
      }
      await Promise.race([pool.end(), sleep(1_000, undefined, { ref: false })]);
    },
  };

  /** The queue gives up when the database is away for long. */
  async function runAgainAndAgain(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        runner = await run({
          pgPool: pool,
          schema: jobSchema,
          noHandleSignals: true,
          // Unbatched, a job whose end cannot be written ends the whole process: nobody awaits that promise.
          preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
          logger: jobLogger(logger),
          taskList: { prune },
          crontab: pruneSchedule,
        });
        if (closing.signal.aborted) await runner.stop();
        await runner.promise;
      } catch (error) {
        logger.warn({ cause: error instanceof Error ? error.message : String(error) }, 'jobs cannot be run');
      }
      await sleep(retryMs, undefined, { signal: closing.signal, ref: false }).catch(() => {}); // closed meanwhile
    }
  }
}

/** What the queue has to say, without the payloads it would add. */
function jobLogger(logger: Logger): JobLogger {
  const levels = { error: 'warn', warning: 'warn', info: 'debug', debug: 'trace' } as const;
  return new JobLogger(() => (level, message) => logger[levels[level]](message));
}
