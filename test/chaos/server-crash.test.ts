import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { freshDatabase } from '../support/database.ts';
import { startCli } from '../surfaces/cli/process.ts';
import { historyProblems } from './support/history.ts';
import { type OwnServer, startOwnServer } from './support/own-server.ts';
import { startWorker, type Worker } from './support/processes.ts';

const tasks = ['task 0', 'task 1', 'task 2', 'task 3'];
let server: OwnServer;
let url: string;
beforeAll(async () => {
  server = await startOwnServer();
  url = await freshDatabase(server.url);
});
afterAll(async () => await server?.remove());

async function asAdministrator<T>(use: (admin: Sql) => Promise<T>): Promise<T> {
  const admin = await connect(url, { role: null, max: 1 });
  try {
    return await use(admin);
  } finally {
    await admin.end();
  }
}

/** A workspace with four tasks that have plans; answers a service, which reaches them all. */
async function prepare(admin: Sql): Promise<string> {
  const ledger = createLedger(admin);
  await ledger.workspaceCreate({ name: 'Crash', workspace_id: 'w' });
  const { id } = await ledger.principalCreate({ workspace_id: 'w', kind: 'service' });
  for (const task of tasks) {
    await ledger.taskCreate({ principal: id, task_id: task, title: task });
    await ledger.planCreate({ principal: id, task_id: task, content: 'start' });
  }
  await ledger.settingsChange({ coalesce_window: '50 milliseconds' });
  return id;
}

/** Waits until every process has `more` acknowledgements beyond those it has now. */
async function untilMore(writers: Worker[], more: number): Promise<void> {
  await Promise.all(writers.map((writer) => writer.until('acknowledged', writer.of('acknowledged').length + more)));
}

test('PostgreSQL stopped immediately and killed under load: every acknowledged write is there, and the clients go on by themselves', async () => {
  const principal = await asAdministrator(prepare);
  const [durability] = await asAdministrator(
    (admin) => admin`select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit`,
  );
  expect(durability).toEqual({ fsync: 'on', commit: 'on' });
  const writers = await Promise.all(
    [0, 1, 2, 3].map(async (index) => {
      const configuration = { url, applicationName: `writer ${index}`, principal, tasks, count: 100_000 };
      const writer = startWorker('append', configuration);
      await writer.until('ready');
      return writer;
    }),
  );
  for (const writer of writers) writer.tell('go');
  for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
    await untilMore(writers, 100);
    await server.crash(signal);
    await server.restart();
  }
  await untilMore(writers, 100);
  for (const writer of writers) writer.tell('stop');
  expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);

  const failed = writers.flatMap((writer) => writer.of('failed'));
  const codes = new Set(failed.map(({ code }) => code));
  expect(codes).toContain('connection_lost');
  expect([...codes].filter((code) => code !== 'connection_lost' && code !== 'database_unavailable')).toEqual([]);

  await asAdministrator(async (admin) => {
    expect(await historyProblems(admin)).toEqual([]);
    const ledger = createLedger(admin);
    for (const task of tasks) {
      const plan = await ledger.planGet({ principal, task_id: task });
      const fragments = plan?.content.split('\n\n') ?? [];
      expect(new Set(fragments).size).toBe(fragments.length);
      const acknowledged = writers.flatMap((writer) => writer.of('acknowledged')).filter((said) => said.task === task);
      const present = new Set(fragments);
      expect(acknowledged.filter(({ fragment }) => !present.has(fragment ?? ''))).toEqual([]);
      // Whatever else is there is one of those whose fate the client was told is unknown.
      const explained = new Set([
        'start',
        ...acknowledged.map(({ fragment }) => fragment),
        ...failed.filter(({ code }) => code === 'connection_lost').map(({ fragment }) => fragment),
      ]);
      expect(fragments.filter((fragment) => !explained.has(fragment))).toEqual([]);
      const versions = acknowledged.map(({ answer }) => answer?.version);
      expect(new Set(versions).size).toBe(versions.length);
    }
  });
});

test('a worker outlives PostgreSQL: it runs jobs again once the server is back', async () => {
  const running = startCli(['worker'], { env: { DATABASE_URL: url } });
  try {
    await vi.waitFor(() => expect(running.output.stdout).not.toBe(''), { timeout: 10_000 });
    for (const signal of ['SIGQUIT', 'SIGKILL'] as const) {
      await server.crash(signal);
      await delay(3_000);
      await server.restart();
      await asAdministrator((admin) => admin`select planledger_jobs.add_job('prune')`);
      await vi.waitFor(
        async () => expect(await asAdministrator((admin) => admin`select from planledger_jobs.jobs`)).toEqual([]),
        { timeout: 20_000, interval: 100 },
      );
    }
    expect(running.child.exitCode).toBe(null);
  } finally {
    running.child.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });
  }
});
