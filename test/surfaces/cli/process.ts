import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, inject, vi } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { databaseUrl, emptyDatabase } from '../../support/database.ts';
import { type Cast, type Fixture, makeCast } from '../../support/fixture.ts';

/** The checkout. */
export const checkout = fileURLToPath(new URL('../../../', import.meta.url));
/** The program, from the sources. */
export const main = path.join(checkout, 'src/surfaces/cli/main.ts');
const compileCache = path.join(checkout, 'node_modules/.cache/planledger-compile');
const boundMs = 40_000;

/** A user id without an entry in the system's list of users. */
export const nobody = 54_321;

/** How a process ended and what it wrote. */
export interface Result {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A running process whose output is collected. */
export interface Running {
  child: ChildProcess;
  output: { stdout: string; stderr: string };
  ended: Promise<Result>;
}

interface SpawnOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string | Uint8Array;
  /** Runs it as this user and group; only root can. */
  uid?: number;
}

// Nothing of the caller's set-up: a DATABASE_URL of theirs must not become part of a test.
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(([key]) => !/^(DATABASE_URL|DEBUG|NODE_OPTIONS|PLANLEDGER_.*|PG.*)$/.test(key)),
);

/** Runs a program; it is killed when it has not ended after a bounded time. */
export function launch(program: string, args: string[], options: SpawnOptions = {}): Running {
  const child = spawn(program, args, {
    cwd: options.cwd ?? os.tmpdir(),
    ...(options.uid !== undefined && { uid: options.uid, gid: options.uid }),
    // Without the cache a start of the program is mostly compiling.
    env: { ...inherited, NODE_COMPILE_CACHE: compileCache, ...options.env },
    timeout: boundMs,
    killSignal: 'SIGKILL',
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.stderr += text;
  });
  child.stdin.on('error', () => {}); // a command that reads no input may end before it is written
  child.stdin.end(options.input);
  return { child, output, ended: once(child, 'close').then(([code]) => ({ code, ...output })) };
}

/** Starts `planledger` from the sources. */
export function startCli(args: string[], options: SpawnOptions = {}): Running {
  return launch(process.execPath, [main, ...args], options);
}

/** Runs `planledger` from the sources to its end. */
export async function cli(args: string[], options: SpawnOptions = {}): Promise<Result> {
  return await startCli(args, options).ended;
}

/** Runs it, expects success, and answers its stdout. */
export async function succeed(args: string[], options: SpawnOptions = {}): Promise<string> {
  const result = await cli(args, options);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result.stdout;
}

/** What a user's mistake must look like, whatever it is. */
export function expectMistake(result: Result, code: 1 | 2, ...texts: string[]): void {
  expect(result.code, result.stderr).toBe(code);
  expect(result.stdout).toBe('');
  for (const text of texts) expect(result.stderr).toContain(text);
  expect(result.stderr).not.toMatch(/^\s+at /m); // a stack trace
  expect(result.stderr.trimEnd().split('\n').length).toBeLessThanOrEqual(3);
}

/** A folder for data folders, entered by the user `postgres` too; whatever still runs in it afterwards is a failure. */
export function useFolder(): { path: string } {
  const folder = { path: '' };
  beforeAll(async () => {
    folder.path = await realpath(await mkdtemp(path.join(os.tmpdir(), 'planledger-cli-')));
    await chmod(folder.path, 0o711);
  });
  afterAll(async () => {
    const left = await processesIn(folder.path);
    for (const pid of left) process.kill(pid, 'SIGQUIT'); // PostgreSQL: immediate shutdown
    await vi.waitFor(async () => expect(await processesIn(folder.path)).toEqual([]), { timeout: 10_000 });
    await rm(folder.path, { recursive: true, force: true });
    expect(left).toEqual([]);
  });
  return folder;
}

/** A cast, and the environment in which commands are its user's; set before the first test. */
export function useCaller(db: Fixture): { cast: Cast; env: Record<string, string> } {
  const caller = {} as { cast: Cast; env: Record<string, string> };
  beforeAll(async () => {
    caller.cast = await makeCast(db);
    const { token } = await createLedger(db.admin).tokenCreate({ principal: caller.cast.user, name: 'cli' });
    caller.env = { DATABASE_URL: db.url, PLANLEDGER_TOKEN: token };
  });
  return caller;
}

/** Makes databases, empty or migrated, that are dropped after the last test of the file. */
export function useDatabases(): { empty(options?: string): Promise<string>; migrated(): Promise<string> } {
  const urls: string[] = [];
  afterAll(async () => {
    const sql = await connect(databaseUrl(inject('serverUrl'), 'postgres'), { role: null, max: 1 });
    for (const url of urls) await sql.unsafe(`drop database if exists ${new URL(url).pathname.slice(1)} with (force)`);
    await sql.end();
  });
  const make = async (options?: string) => {
    const url = await emptyDatabase(inject('serverUrl'), options);
    urls.push(url);
    return url;
  };
  return { empty: make, migrated: () => make(`template ${new URL(inject('templateUrl')).pathname.slice(1)}`) };
}

/** PostgreSQL works inside its data folder, which finds its processes (Linux only; elsewhere it finds none). */
export async function processesIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 0);
  const cwds = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => cwds[index]?.startsWith(folder));
}

/** Whatever a test started with it is killed after that test. */
export function useCleanup(): <T extends Running>(running: T) => T {
  const all: Running[] = [];
  afterEach(async () => {
    for (const { child, ended } of all.splice(0)) {
      child.kill('SIGKILL');
      await ended;
    }
  });
  return (running) => {
    all.push(running);
    return running;
  };
}

/** The ready file of a start, once it is there; fails at once when the process ends instead. */
export async function ready(running: Running, file: string): Promise<Record<string, unknown>> {
  let ended: Result | undefined;
  void running.ended.then((result) => {
    ended = result;
  });
  for (;;) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) return JSON.parse(text);
    if (ended !== undefined) throw new Error(`It ended with ${ended.code}: ${ended.stderr}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
