import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { UsageError } from './failure.ts';

const runningInfo = z.object({
  url: z.url(),
  mcp_url: z.url(),
  ws_url: z.url(),
  database_url: z.url(),
  token: z.string().nullable(),
  task_id: z.string().nullable(),
  pid: z.int32().positive(), // 0 and below mean whole groups of processes
});

/** A running `planledger start`: what it writes to its ready file and, for other commands, into its data folder. */
export type RunningInfo = z.infer<typeof runningInfo>;

/** The data folder of `planledger start` when none is named. */
export const defaultDataDir = '.planledger';

/** Where a running `planledger start` describes itself to the other commands. */
export function runningFile(dataDir: string): string {
  return path.join(dataDir, 'running.json');
}

/** What a `planledger start` that is running on `dataDir` wrote there; undefined when none is running. */
export async function findRunning(dataDir: string): Promise<RunningInfo | undefined> {
  const file = runningFile(dataDir);
  return await readRunning(file).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `Cannot read ${file}: ${error.message}.`,
      'Run this as the user who runs `planledger start`, or give --database-url and --token.',
    );
  });
}

/** What a `planledger start` that is running wrote to `file`; undefined when there is none, or nothing of the kind. */
export async function readRunning(file: string): Promise<RunningInfo | undefined> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return '';
    throw error;
  });
  // A start writes all of it or nothing. What was damaged later names no start, and the next one replaces it.
  const running = runningInfo.safeParse(parseJson(text)).data;
  // A killed start leaves the file behind; in a container the next one may have the same pid.
  return running !== undefined && running.pid !== process.pid && isAlive(running.pid) ? running : undefined;
}

/** Whether a file may be replaced: it is not there, is empty, or is what a start wrote, running or not. */
export async function isEmptyOrOurs(file: string): Promise<boolean> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text === '' || runningInfo.safeParse(parseJson(text)).success;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Writes a file that only its owner may read; a reader sees all of it or nothing. */
export async function writePrivate(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: alive, and another user's.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
