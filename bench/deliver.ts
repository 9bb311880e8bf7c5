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
const queued = 4; // prompts in each queue

/**
 * Accepted prompts delivered against jobs that do nothing, by one runner, ten at once. The agent says at once that it has
 * the prompt: what an agent and the way to it cost is not ours. Everything is accepted, and every empty job added, before
 * the time runs; only the job of a prompt further back in a queue is added by the delivery of the one before it.
 */
export async function deliver(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, quick, user } = bench;
  const ledger = createLedger(app);
  const sessions = Array.from({ length: quick ? 400 : 1000 }, (_, at) => ({
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
  const content = 'Go on.';
  let accepted = 0;
  const against = (accept: () => Promise<unknown>) =>
    pairedRatio(
      quick ? 5 : 9,
      async () => {
        await accept();
        return await jobsPerSecond(pool, taskList, sessions.length);
      },
      async () => {
        await admin`select ${admin(jobSchema)}.add_job('empty') from generate_series(1, ${sessions.length})`;
        return await jobsPerSecond(pool, taskList, sessions.length);
      },
    );
  const message = (on: (typeof sessions)[0]) => {
    accepted += 1;
    return ledger.messageAdd({ ...on, client_message_id: `${accepted}`, content });
  };
  const entries = async (on: (typeof sessions)[0]) => {
    for (let entry = 0; entry < queued; entry += 1) {
      accepted += 1;
      await ledger.queueAdd({ ...on, client_queue_id: `${accepted}`, content });
    }
  };
  try {
    const direct = await against(() => workThrough(sessions, message));
    const fromQueue = await against(() => workThrough(sessions.slice(0, sessions.length / queued), entries));

    const states = await admin<{ state: string; count: number }[]>`
      select state, count(*)::int from planledger.receipts where task_id like 'deliver-%' group by 1`;
    const acknowledged = states.find(({ state }) => state === 'acknowledged')?.count;
    if (acknowledged !== accepted || sent.length !== accepted || new Set(sent).size !== accepted) {
      throw new Error(`${accepted} were accepted, ${sent.length} sent, and are now ${JSON.stringify(states)}`);
    }
    const note = ({ a, b }: { a: number; b: number }) =>
      `${Math.round(a)} prompts/s, ${Math.round(b)} empty jobs/s, ${concurrency} at once, each sent once`;
    return {
      deliver: atLeast(direct.ratio, 0.2, note(direct)),
      deliver_queued: atLeast(fromQueue.ratio, 0.12, note(fromQueue)),
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
    letGo: async () => {},
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
