import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import pg from 'pg';
import { connectionSettings } from './connect.ts';

/** The schema of the job queue, which graphile-worker makes: of our own, beside one that an application may have. */
export const jobSchema = 'planledger_jobs';

const manifest = path.join(createRequire(import.meta.url).resolve('graphile-worker'), '../../package.json');

/** The version of the job queue that this program brings. */
export const jobQueueVersion: string = JSON.parse(readFileSync(manifest, 'utf8')).version;

/** A pool of connections that act as the worker's role. PgBouncer refuses what they ask for when they start. */
export function openJobPool(databaseUrl: string, options: { max: number }): pg.Pool {
  const settings = Object.entries({ ...connectionSettings, role: 'planledger_worker' });
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: 'planledger worker',
    connectionTimeoutMillis: 10_000,
    max: options.max,
    options: settings.map(([name, value]) => `-c ${name}=${value}`).join(' '),
  });
  // A connection that is lost fails the query under way, which reports it.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Makes the job queue's tables, or brings them up to date, as their owner. */
export async function migrateJobQueue(databaseUrl: string): Promise<void> {
  const { Logger, runMigrations } = await import('graphile-worker');
  const pool = openJobPool(databaseUrl, { max: 1 });
  try {
    // It asks for the right to create schemas wherever this table is missing, though the schema is there.
    await pool.query(`create table if not exists ${jobSchema}.migrations (
      id integer primary key, ts timestamptz not null default now(), breaking boolean not null default false)`);
    await runMigrations({ pgPool: pool, schema: jobSchema, logger: new Logger(() => () => {}) });
  } finally {
    await pool.end();
  }
}
