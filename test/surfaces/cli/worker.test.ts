import { beforeAll, expect, test, vi } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { type Running, startCli, useCleanup } from './process.ts';

const db = useDatabase();
const kept = useCleanup();

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
