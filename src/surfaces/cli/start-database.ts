import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { startEmbedded } from '../../postgres/embedded.ts';
import { isUnreachable, ObstacleError } from './failure.ts';
import type { Lifetime } from './lifetime.ts';
import { note } from './output.ts';
import { findRunning, type RunningInfo } from './running.ts';
import { takeStartLock } from './start-lock.ts';

const maxAttempts = 20;
const pauseMs = 500;
const answerMs = 2_000;

/** Takes the data folder for this process, with the database that DATABASE_URL names. */
export async function useExternal(life: Lifetime, databaseUrl: string, dataDir: string): Promise<string> {
  const lock = await takeStartLock(databaseUrl, dataDir, life);
  if (lock === undefined) throw await alreadyRunning(dataDir);
  life.defer(() => lock.release());
  // One that uses another database has its lock there.
  if (await answers(await findRunning(dataDir))) throw await alreadyRunning(dataDir);
  return databaseUrl;
}

/**
 * Takes the data folder for this process, with the PostgreSQL that lives in it, started or adopted. Only who has taken
 * the folder stops the server, so that a second start never stops it under the first.
 *
 * @returns the connection string of the database `planledger` on it.
 */
export async function useEmbedded(life: Lifetime, dataDir: string): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    life.signal.throwIfAborted();
    const server = await startEmbedded({ dataDir, log: note });
    const lock = await takeStartLock(server.url, dataDir, life).catch(async (error: unknown) => {
      if (!server.adopted) await server.stop();
      // The start that was using the server is just stopping it; the next attempt starts it again.
      if (!server.adopted || !isUnreachable(error) || attempt === maxAttempts) throw error;
      return 'stopping' as const;
    });
    if (lock === 'stopping') {
      await delay(pauseMs);
      continue;
    }
    if (lock === undefined) throw await alreadyRunning(dataDir);
    life.defer(() => lock.release());
    // Before the release: nobody may begin to use a server that is about to stop.
    life.defer(async () => {
      if (await lock.isHeld()) await server.stop();
    });
    return await ownDatabase(server.url);
  }
}

/** Whether a start that says it runs does: its process may be another's by now. */
async function answers(running: RunningInfo | undefined): Promise<boolean> {
  if (running === undefined) return false;
  return await fetch(`${running.url}/healthz`, { signal: AbortSignal.timeout(answerMs) }).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function alreadyRunning(dataDir: string): Promise<ObstacleError> {
  const running = await findRunning(dataDir);
  const who = running === undefined ? '' : ` (pid ${running.pid}, ${running.url})`;
  return new ObstacleError(
    'already_running',
    `Another \`planledger start\` is using ${dataDir}${who}; it keeps running.`,
    'Use that one, stop it with Ctrl-C first, or start this one with another --data-dir and --port 0.',
  );
}

async function ownDatabase(serverUrl: string): Promise<string> {
  const sql = postgres(serverUrl, { max: 1, fetch_types: false, onnotice: () => {} });
  try {
    const found = await sql`select from pg_database where datname = 'planledger'`;
    if (found.length === 0) await sql`create database planledger encoding 'UTF8' template template0`;
  } finally {
    await sql.end({ timeout: 5 });
  }
  const url = new URL(serverUrl);
  url.pathname = '/planledger';
  return url.href;
}
