import { EventEmitter } from 'node:events';
import { Logger, run, type TaskList, type WorkerEvents } from 'graphile-worker';
import type { Pool } from 'pg';
import { pino } from 'pino';
import { createHinter, withHints } from '../src/events/hints.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { openPool, type Sql } from '../src/postgres/connect.ts';
import { jobSchema, openJobPool } from '../src/postgres/job-queue.ts';
import { createDelivery } from '../src/worker/deliver.ts';
import type { Host } from '../src/worker/host.ts';
import { tasks } from '../src/worker/tasks.ts';
import { createUntilWritten } from '../src/worker/until-written.ts';
import { atLeast, type Bench, pairedRatio, type Result, workThrough } from './bench.ts';

const concurrency = 10; // of a worker

/**
 * Accepted prompts delivered against jobs that do nothing, in one runner's turns of ten at once. The agent says at once
 * that it has the prompt: what an agent and the way to it cost is not ours. Half of the prompts are direct messages, half
 * wait in the queue behind one. They are accepted before the time runs; what that costs is another scenario.
 */
export async function deliver(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, quick, user } = bench;
  const ledger = createLedger(app);
  const sessions = Array.from({ length: quick ? 200 : 500 }, (_, at) => ({
    ...{ principal: user, task_id: `deliver-${at}`, session_id: 's' },
  }));
  await workThrough(sessions, async (on) => {
    await ledger.taskCreate({ ...on, title: on.task_id });
    await ledger.sessionCreate({ ...on, name: 's', transport: 'webhook' });
  });

  const pool = openJobPool(bench.url, { max: concurrency });
  const sql = openPool(bench.url, { role: 'planledger_worker' });
  const sent: string[] = [];
  const taskList = { ...deliveryTasks(sql, sent), empty: () => {} };
  const prompts = sessions.length * 2;
  let round = 0;
  try {
    const { ratio, a, b } = await pairedRatio(
      quick ? 5 : 9,
      async () => {
        round += 1;
        await workThrough(sessions, async (on) => {
          await ledger.messageAdd({ ...on, client_message_id: `${round}`, content: 'Go on.' });
          await ledger.queueAdd({ ...on, client_queue_id: `${round} queued`, content: 'And then test it.' });
        });
        return await jobsPerSecond(pool, taskList, prompts);
      },
      async () => {
        await admin`select ${admin(jobSchema)}.add_job('empty') from generate_series(1, ${prompts})`;
        return await jobsPerSecond(pool, taskList, prompts);
      },
    );
    const states =
      await admin`select state, count(*)::int from planledger.receipts where task_id like 'deliver-%' group by 1`;
    const [all] = states;
    if (all?.state !== 'acknowledged' || all.count !== round * prompts || new Set(sent).size !== sent.length) {
      throw new Error(`of ${round * prompts} prompts, ${sent.length} were sent, and are now ${JSON.stringify(states)}`);
    }
    return {
      deliver: atLeast(
        ratio,
        0.2,
        `${Math.round(a)} prompts/s, ${Math.round(b)} empty jobs/s, ${concurrency} at once, ${sent.length} sent, each once`,
      ),
    };
  } finally {
    await Promise.all([pool.end(), sql.end({ timeout: 5 })]);
  }
}

/** What a worker does with the prompts, and an agent in memory that answers at once and keeps in `sent` what it got. */
function deliveryTasks(sql: Sql, sent: string[]): TaskList {
  const logger = pino({ level: 'silent' });
  const ledger = withHints(createLedger(sql), createHinter(sql));
  const host: Host = {
    prepare: async () => ({
      send: async ({ id }) => {
        sent.push(id);
        return { outcome: 'accepted' };
      },
    }),
    start: async () => {},
    look: () => {},
    close: async () => {},
  };
  const untilWritten = createUntilWritten(new AbortController().signal);
  const deliverTo = createDelivery({ ledger, holder: 'bench', logger, untilWritten });
  return tasks({ ledger, host, deliver: (taskId, receiptId) => deliverTo(host, taskId, receiptId) });
}

/** Runs jobs as a worker does until `count` of them are done; answers how many a second from the first on. */
async function jobsPerSecond(pgPool: Pool, taskList: TaskList, count: number): Promise<number> {
  const events: WorkerEvents = new EventEmitter();
  let start = Number.NaN;
  let done = 0;
  events.once('job:start', () => {
    start = performance.now();
  });
  const finished = new Promise<number>((resolve) => {
    events.on('job:complete', () => {
      done += 1;
      if (done === count) resolve(performance.now());
    });
  });
  const runner = await run({
    ...{ pgPool, taskList, concurrency, events, schema: jobSchema, noHandleSignals: true },
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
    logger: new Logger(() => () => {}),
  });
  const end = await finished;
  await runner.stop();
  return count / ((end - start) / 1000);
}
