import { readFile, readlink, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EmbeddedPostgresError, run } from './programs.ts';

/** A live postmaster, as its pid file describes it. */
export interface Postmaster {
  pid: number;
  port: number;
  /** It accepts connections: neither recovering nor shutting down. */
  ready: boolean;
}

// Recovery after a crash, and the checkpoint of a shutdown, may take this long on a slow disk.
const settleTimeoutMs = 120_000;
const pollMs = 100;
// A postmaster fills its pid file within microseconds; one that stays empty is what a power failure left.
const emptyPidFileMs = 1_000;

/**
 * Finds the live postmaster of a cluster.
 *
 * @param cluster - absolute, with links resolved.
 * @returns undefined when there is none, whatever a stale `postmaster.pid` says.
 */
export async function findPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const text = await readPidFile(cluster);
  if (text === undefined) return undefined;
  // Lines: pid, data directory, start time, port, socket directory, listen address, shared memory, status.
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!(pid > 0) || !(await isPostmasterOf(pid, cluster))) return undefined;
  return { pid, port: Number(lines[3] ?? 0), ready: lines[7]?.trim() === 'ready' };
}

/**
 * Waits until the postmaster of a cluster is ready or gone.
 *
 * @throws EmbeddedPostgresError after two minutes of neither.
 */
export async function settledPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const deadline = Date.now() + settleTimeoutMs;
  for (;;) {
    const found = await findPostmaster(cluster);
    if (found === undefined || found.ready) return found;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `PostgreSQL (pid ${found.pid}) on ${cluster} is still starting or stopping. Wait for it and start again; ${cluster}.log says what it does.`,
      );
    }
    await delay(pollMs);
  }
}

/**
 * Removes a pid file that PostgreSQL would take for a running server although none is there: its pid now belongs to
 * another process (usual after the restart of a container) or to one nobody has reaped, or the file is empty. All other
 * stale pid files PostgreSQL recognises itself. Backends a killed postmaster may have left are still detected, by the
 * shared memory they are attached to. Call it only when {@link settledPostmaster} found nothing.
 */
export async function removeForeignPidFile(cluster: string): Promise<void> {
  const text = await readPidFile(cluster);
  if (text === undefined) return;
  const file = pidFile(cluster);
  const pid = Number(text.split('\n')[0]);
  if (pid > 0) {
    if (!isAlive(pid) || (await isPostmasterOf(pid, cluster))) return;
  } else {
    const written = await stat(file).catch(() => undefined);
    if (written === undefined) return;
    await delay(Math.max(0, written.mtimeMs + emptyPidFileMs - Date.now()));
    if ((await readPidFile(cluster)) !== text) return;
  }
  await rm(file, { force: true });
}

function pidFile(cluster: string): string {
  return path.join(cluster, 'postmaster.pid');
}

async function readPidFile(cluster: string): Promise<string | undefined> {
  return await readFile(pidFile(cluster), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    // Gone, or of another user, whom PostgreSQL rules out as well.
    return false;
  }
}

async function isPostmasterOf(pid: number, cluster: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform === 'linux') {
    // A postmaster works in its data directory; unreadable means a zombie or another user's process.
    return (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === cluster;
  }
  if (process.platform === 'win32') return true;
  return (await run('ps', ['-p', String(pid), '-o', 'command='], { cwd: '/' })).output.includes('postgres');
}
