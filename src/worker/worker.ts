import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger as JobLogger, type Runner, run, type WorkerEvents } from 'graphile-worker';
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

const againMs = 2_000;
const finishMs = 5_000;
const silentMs = 10_000; // the queue asks for jobs every two seconds
const longestJobMs = 600_000;

/**
 * Runs jobs and the schedule as `planledger_worker` until it is closed. Any number of workers may share a database, and
 * one that loses it begins again when it is back.
 */
export function startWorker({ databaseUrl, logger }: WorkerOptions): Worker {
  const closing = new AbortController();
  const closed = once(closing.signal, 'abort').then(() => 'closed' as const);
  const ended = runAgainAndAgain();
  return {
    close() {
      closing.abort();
      return ended;
    },
  };

  async function runAgainAndAgain(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await runUntilItEnds();
      } catch (error) {
        logger.warn({ cause: error instanceof Error ? error.message : String(error) }, 'jobs cannot be run');
      }
      await sleep(againMs, undefined, { signal: closing.signal }).catch(() => {}); // closed meanwhile
    }
  }

  /**
   * The queue gives up when the database is away for long. A connection that goes silent it waits for, and a failure at
   * the wrong moment it remembers, both for ever: when it does not get through to its jobs, it is left to itself.
   */
  async function runUntilItEnds(): Promise<void> {
    const pool = openJobPool(databaseUrl, { max: 4 });
    const life = watch();
    try {
      const starting = run({
        pgPool: pool,
        schema: jobSchema,
        noHandleSignals: true,
        // Unbatched, a job whose end cannot be written ends the whole process: nobody awaits that promise.
        preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
        events: life.events,
        logger: jobLogger(logger),
        taskList: { prune },
        crontab: pruneSchedule,
      });
      const why = await Promise.race([starting.then(({ promise }) => promise), life.silence, closed]);
      if (why === 'silent') logger.warn('jobs cannot be asked for; trying anew');
      await stop(starting);
    } finally {
      life.end();
      void pool.end().catch(() => {}); // it may wait for a connection that is gone
    }
  }

  /** It may still be starting, or have stopped by itself. */
  async function stop(starting: Promise<Runner>): Promise<void> {
    const stopped = starting.then((runner) => runner.stop('the worker stops')).catch(() => {});
    if ((await Promise.race([stopped, sleep(finishMs, 'late', { ref: false })])) !== 'late') return;
    logger.warn('jobs under way are given up');
    void starting.then((runner) => runner.kill('the worker stops')).catch(() => {});
  }

  /** Whether the queue still gets through to its jobs. */
  function watch() {
    const events: WorkerEvents = new EventEmitter();
    const over = new AbortController();
    let heardAt = performance.now();
    let inJob = false;
    const heard = (job: boolean) => () => {
      heardAt = performance.now();
      inJob = job;
    };
    events.on('job:start', heard(true));
    for (const event of ['job:complete', 'worker:getJob:empty'] as const) events.on(event, heard(false));
    const ticking = setInterval(() => {
      if (performance.now() - heardAt > (inJob ? longestJobMs : silentMs)) over.abort();
    }, 1_000);
    return {
      events,
      silence: once(over.signal, 'abort').then(() => 'silent' as const),
      end: () => clearInterval(ticking),
    };
  }
}

/** What the queue has to say, without the payloads it would add. */
function jobLogger(logger: Logger): JobLogger {
  const levels = { error: 'warn', warning: 'warn', info: 'debug', debug: 'trace' } as const;
  return new JobLogger(() => (level, message) => logger[levels[level]](message));
}
