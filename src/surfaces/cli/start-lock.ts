import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { errorCode, isUnreachable, ObstacleError, UsageError } from './failure.ts';
import type { Lifetime } from './lifetime.ts';

/** The right to be the one `planledger start` of a data folder. */
export interface StartLock {
  /** Whether it is still this process's: its connection may just have been lost, and another start been faster. */
  isHeld(): Promise<boolean>;
  release(): Promise<void>;
}

// A killed holder's connection ends within milliseconds, its backend soon after.
const patienceMs = 2_000;
const regainMs = 60_000;
const pauseMs = 200;

/**
 * Takes the lock of `dataDir`, an advisory lock of a session of its own, which ends with the process however that ends.
 *
 * When the database goes away and the lock cannot be had again within a minute, the lifetime ends with an error.
 *
 * @returns undefined when another process holds it.
 */
export async function takeStartLock(
  databaseUrl: string,
  dataDir: string,
  life: Lifetime,
): Promise<StartLock | undefined> {
  const first = await tryLock(databaseUrl, dataDir, patienceMs);
  if (first === undefined) return undefined;
  let client: pg.Client | undefined;
  let released = false;
  hold(first);

  function hold(connection: pg.Client): void {
    client = connection;
    connection.once('end', () => {
      client = undefined;
      void regain();
    });
    if (released) void connection.end(); // had again only after the end
  }

  // After a crash PostgreSQL comes back by itself, without the locks of before.
  async function regain(): Promise<void> {
    const deadline = performance.now() + regainMs;
    while (!life.signal.aborted) {
      const found = await tryLock(databaseUrl, dataDir, 0).catch((error: Error) => error);
      if (found instanceof pg.Client) return hold(found);
      if (found === undefined) return life.end(takenOver(dataDir));
      if (!isUnreachable(found)) return life.end(found);
      if (performance.now() > deadline) return life.end(goneForGood());
      await delay(pauseMs, undefined, { ref: false });
    }
  }

  return {
    async isHeld() {
      if (client !== undefined) return true;
      const found = await tryLock(databaseUrl, dataDir, 0).catch((error: Error) => error);
      if (found instanceof pg.Client) hold(found);
      return found !== undefined;
    },
    async release() {
      released = true;
      await client?.end();
    },
  };
}

function takenOver(dataDir: string): Error {
  return new ObstacleError(
    'already_running',
    `The database was away for a moment, and another \`planledger start\` has taken over ${dataDir}.`,
    'Use that one.',
  );
}

function goneForGood(): Error {
  return new ObstacleError(
    'database_lost',
    'The database went away and did not come back within a minute.',
    'Start again: what was acknowledged is there. If it happens again, the end of postgres.log in the data folder says why.',
  );
}

async function tryLock(databaseUrl: string, dataDir: string, patience: number): Promise<pg.Client | undefined> {
  const key = createHash('sha256').update(`planledger start ${dataDir}`).digest().readBigInt64BE().toString();
  const deadline = performance.now() + patience;
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'planledger start',
    keepAlive: true,
    connectionTimeoutMillis: 10_000,
    // An idle session is what holds the lock. PgBouncer refuses this parameter, and could not keep a session anyway.
    options: '-c idle_session_timeout=0',
  });
  client.on('error', () => {}); // `end` follows, which is what matters
  try {
    await client.connect();
    for (;;) {
      const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [key]);
      if (rows[0].taken) return client;
      if (performance.now() > deadline) break;
      await delay(pauseMs);
    }
  } catch (error) {
    await client.end().catch(() => {});
    if (errorCode(error) === '08P01') {
      throw new UsageError(
        '`planledger start` needs a direct connection to PostgreSQL, and DATABASE_URL leads to a PgBouncer.',
        'Use `planledger serve` there, or give `start` the URL of PostgreSQL itself.',
      );
    }
    throw error;
  }
  await client.end();
  return undefined;
}
