import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger as JobLogger, type Runner, run, type WorkerEvents } from 'graphile-worker';
import type { Logger } from 'pino';
import { createHinter, hintChannel, withHints } from '../events/hints.ts';
import { toPlanledgerError } from '../ledger/errors.ts';
import { createLedger } from '../ledger/ledger.ts';
import { openPool } from '../postgres/connect.ts';
import { jobSchema, openJobPool } from '../postgres/job-queue.ts';
import type { Agents } from '../transports/agents-file.ts';
import { createDelivery } from './deliver.ts';
import { createHost } from './host.ts';
import { schedule, tasks } from './tasks.ts';
import { createUntilWritten } from './until-written.ts';

/** @see startWorker */
export interface WorkerOptions {
  /** A connection string of the server itself: PgBouncer keeps no session, in which jobs are listened for. */
  databaseUrl: string;
  logger: Logger;
  /** The agents that it reaches; a worker without any delivers to none. */
  agents: Agents;
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
const longestStartMs = 60_000;
/** Most of them wait for an agent. */
const jobsMax = 10;

/**
 * Runs jobs and the schedule as `planledger_worker` until it is closed. Any number of workers may share a database, and
 * one that loses it begins again when it is back.
 */
export function startWorker({ databaseUrl, logger, agents }: WorkerOptions): Worker {
  const closing = new AbortController();
  const disconnecting = new AbortController();
  const closed = once(closing.signal, 'abort').then(() => 'closed' as const);
  const holder = `${hostname().slice(0, 100)}/${process.pid}/${randomUUID()}`;
  const sql = openPool(databaseUrl, { role: 'planledger_worker', applicationName: 'planledger worker' });
  const own = createLedger(sql);
  const ledger = withHints(own, createHinter(sql));
  const shared = { holder, logger, untilWritten: createUntilWritten(disconnecting.signal) };
  const deliverTo = createDelivery({ ledger, ...shared });
  const host = createHost({ ledger: { ...ledger, agentsTend: own.agentsTend }, agents, deliver, ...shared });
  sql.listen(hintChannel, host.look, host.look).catch(() => {}); // it looks once a second anyway
  shared
    .untilWritten(() => ledger.receiptsReconcile({}), longestStartMs)
    .catch((error: unknown) => {
      logger.warn({ code: toPlanledgerError(error, 'reconcile_receipts', null).code }, 'receipts cannot be reconciled');
    });
  const ended = runAgainAndAgain();
  return {
    async close() {
      closing.abort();
      await ended;
      await host.close();
      disconnecting.abort();
      await sql.end({ timeout: 1 });
    },
  };

  function deliver(taskId: string, receiptId: string): Promise<void> {
    return deliverTo(host, taskId, receiptId);
  }

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
    const pool = openJobPool(databaseUrl, { max: jobsMax });
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
        taskList: tasks({ ledger, host, deliver }),
        crontab: schedule,
        concurrency: jobsMax,
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
    const underWay = new Set<string>();
    const heard = () => {
      heardAt = performance.now();
    };
    events.on('job:start', ({ job }) => {
      underWay.add(job.id);
      heard();
    });
    for (const event of ['job:success', 'job:error'] as const) events.on(event, ({ job }) => underWay.delete(job.id));
    for (const event of ['job:complete', 'worker:getJob:empty'] as const) events.on(event, heard);
    const ticking = setInterval(() => {
      // Nobody asks for more while as many are under way as there may be.
      const longest = underWay.size < jobsMax ? silentMs : longestJobMs;
      if (performance.now() - heardAt > longest) over.abort();
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
