import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { cli, expectMistake, type Running, startCli, useCleanup, useFolder } from './process.ts';

const db = useDatabase();
const kept = useCleanup();
const folder = useFolder();

beforeAll(async () => void (await makeCast(db)));

async function startWorker(): Promise<Running> {
  const running = kept(startCli(['worker'], { env: { DATABASE_URL: db.url } }));
  await vi.waitFor(() => expect(running.output.stdout).toBe('Planledger runs jobs.\n'), { timeout: 10_000 });
  return running;
}

const until = (what: () => Promise<unknown>) => vi.waitFor(what, { timeout: 30_000, interval: 50 });

async function stop({ child, ended }: Running): Promise<void> {
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0, stderr: 'Stopping. Press Ctrl-C again to end at once.\n' });
}

const events = async () => (await db.admin`select from planledger.events`).length;

/** Lets the snapshots that were stored until now count as an hour old. */
const age = () => db.admin`update planledger.event_snapshots set taken_at = taken_at - interval '1 hour'`;

test('its schedule prunes, at the start of a worker too where it is overdue, and a signal ends it cleanly', async () => {
  const first = await startWorker();
  await until(async () => {
    expect(await db.admin`select identifier from planledger_jobs._private_known_crontabs order by 1`).toEqual([
      { identifier: 'prune' },
      { identifier: 'reconcile_receipts' },
    ]);
  });
  await stop(first);
  expect(await events()).toBeGreaterThan(0);
  await db.admin`select planledger.events_prune()`;
  await age();
  await db.admin`update planledger_jobs._private_known_crontabs set known_since = now() - interval '1 hour'`;

  const second = await startWorker();
  await until(async () => expect(await events()).toBe(0));
  await stop(second);
  expect(await db.admin`select from planledger_jobs._private_jobs`).toEqual([]);
});

test('a worker whose connections are cut again and again goes on', async () => {
  const running = await startWorker();
  for (let round = 0; round < 5; round += 1) {
    await until(async () => {
      const cut = await db.admin`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = 'planledger worker'`;
      expect(cut.length).toBeGreaterThan(0);
    });
    await makeCast(db);
    await db.admin`select planledger.events_prune()`;
    await age();
    await db.admin`select planledger_jobs.add_job('prune')`;
    await until(async () => expect(await events()).toBe(0));
  }
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
}, 150_000);

test('a worker whose connections are cut while it starts goes on too', async () => {
  const running = await startWorker();
  for (let cuts = 0; cuts < 3; ) {
    const cut = await db.admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'planledger worker'`;
    if (cut.length > 0) cuts += 1;
    expect(running.child.exitCode).toBe(null);
  }
  await db.admin`select planledger_jobs.add_job('prune')`;
  await until(async () => expect(await db.admin`select from planledger_jobs.jobs where locked_at is null`).toEqual([]));
  running.child.kill('SIGTERM');
  expect(await running.ended).toMatchObject({ code: 0 });
});

test.each([
  ['is not there', undefined, 'Cannot read'],
  ['is no JSON', '{', 'Cannot read'],
  ['names no transport', { a: { command: 'x' } }, 'agents.a.transport'],
  ['names a field that there is not', { a: { transport: 'acp', command: 'x', cmd: 'y' } }, 'cmd'],
  [
    'names a secret that agents would get',
    { a: { transport: 'webhook', url: 'http://x/', secret_env: 'S' } },
    'PLANLEDGER_',
  ],
  [
    'names a secret that is not set',
    { a: { transport: 'webhook', url: 'http://x/', secret_env: 'PLANLEDGER_NO_SUCH' } },
    'PLANLEDGER_NO_SUCH',
  ],
])('a file of agents that %s is a mistake of its operator', async (_, agents, says) => {
  const file = path.join(folder.path, `${randomUUID()}.json`);
  if (agents !== undefined) await writeFile(file, typeof agents === 'string' ? agents : JSON.stringify({ agents }));
  expectMistake(await cli(['worker', '--agents', file], { env: { DATABASE_URL: db.url } }), 2, says);
});

test('a worker says which agents it reaches', async () => {
  const file = path.join(folder.path, 'two.json');
  const agent = { transport: 'acp', command: 'x' };
  await writeFile(file, JSON.stringify({ agents: { one: agent, two: agent } }));
  const running = kept(startCli(['worker'], { env: { DATABASE_URL: db.url, PLANLEDGER_AGENTS: file } }));
  const says = 'Planledger runs jobs.\nIt reaches the agents one, two.\n';
  await vi.waitFor(() => expect(running.output.stdout).toBe(says), { timeout: 10_000 });
  await stop(running);
});
