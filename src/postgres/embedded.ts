import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ClusterPaths, clusterPaths, ensureCluster, lastLines } from './cluster.ts';
import { findPostmaster, type Postmaster, removeForeignPidFile, settledPostmaster } from './postmaster.ts';
import {
  type Account,
  assertReachable,
  type EmbeddedBinaries,
  EmbeddedPostgresError,
  embeddedBinaries,
  ensureDataDir,
  run,
  serverAccount,
} from './programs.ts';

export { type EmbeddedBinaries, EmbeddedPostgresError, embeddedBinaries } from './programs.ts';

/** A running PostgreSQL server of our own. */
export interface EmbeddedPostgres {
  /** Connection string of the superuser `postgres`, password included, for the database `postgres`. */
  url: string;
  /** True when the server was running already, left behind by a planledger that was killed. */
  adopted: boolean;
  /**
   * Stops the server (fast: open transactions roll back, everything committed is on disk) and waits for its end.
   * Calling it again, or after the server has ended, does nothing.
   *
   * @throws EmbeddedPostgresError when the server is still there after two and a half minutes; it may be called again then.
   */
  stop(): Promise<void>;
}

/** @see startEmbedded */
export interface EmbeddedOptions {
  /** Folder for the cluster and what belongs to it, `.planledger` for instance; created when missing. */
  dataDir: string;
  /** TCP port on 127.0.0.1; when absent or 0, the one used last if it is free, otherwise any free one. */
  port?: number;
  /** Receives what a person may want to know, one line at a time; nothing is ever written to stdout. */
  log?: (line: string) => void;
}

const serverTimeoutSeconds = 120;
// Together with the pause between them about ten seconds: what the backends of a killed postmaster need to notice.
const maxAttempts = 20;
const attemptPauseMs = 500;

/**
 * Starts PostgreSQL on `dataDir`, initialising a UTF8 cluster there at first, or adopts the server that runs on it
 * already. As root, the server runs as the system user `postgres`. Two processes that call this on one folder get the
 * same server; whether both may use it is for the caller to decide.
 *
 * @throws EmbeddedPostgresError with the end of the server's log and what to do.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => {});
  const binaries = await embeddedBinaries();
  const paths = clusterPaths(await ensureDataDir(path.resolve(options.dataDir)));
  const account = await serverAccount(paths.cluster);
  if (account !== undefined) {
    const programs = path.dirname(binaries.postgres);
    const installed = ['lib/postgresql', 'share/postgresql'].map((part) => path.join(programs, '..', part));
    await assertReachable(account, [paths.dataDir, programs, ...installed]);
  }
  const password = await ensureCluster(paths, binaries, account, log);
  const server = { paths, binaries, account };
  const { postmaster, adopted } = await startOrAdopt(server, options.port ?? 0, log);
  await writeFile(paths.port, `${postmaster.port}\n`);
  let stopped: Promise<void> | undefined;
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${postmaster.port}/postgres`,
    adopted,
    stop() {
      stopped ??= stopPostmaster(server, postmaster.pid).catch((error: unknown) => {
        stopped = undefined;
        throw error;
      });
      return stopped;
    },
  };
}

interface Server {
  paths: ClusterPaths;
  binaries: EmbeddedBinaries;
  account: Account | undefined;
}

async function startOrAdopt(
  server: Server,
  wantedPort: number,
  log: (line: string) => void,
): Promise<{ postmaster: Postmaster; adopted: boolean }> {
  const { paths } = server;
  let port = wantedPort === 0 ? await rememberedOrFreePort(paths) : wantedPort;
  for (let attempt = 1; ; attempt += 1) {
    const running = await settledPostmaster(paths.cluster);
    if (running !== undefined) {
      log(`PostgreSQL runs on ${paths.cluster} already (pid ${running.pid}, port ${running.port})`);
      return { postmaster: running, adopted: true };
    }
    await removeForeignPidFile(paths.cluster);
    const failure = await startPostmaster(server, port);
    if (failure === undefined) {
      const postmaster = await settledPostmaster(paths.cluster);
      if (postmaster === undefined) {
        throw new EmbeddedPostgresError(`PostgreSQL ended right after its start. Look at ${paths.log}.`);
      }
      log(`PostgreSQL started (pid ${postmaster.pid}, port ${postmaster.port})`);
      return { postmaster, adopted: false };
    }
    const portTaken = failure.includes('could not bind');
    const beaten = failure.includes('postmaster.pid" already exists');
    const backendsLeft = failure.includes('pre-existing shared memory block');
    if (attempt === maxAttempts || !((portTaken && wantedPort === 0) || beaten || backendsLeft)) {
      throw startError(paths, failure, portTaken ? port : undefined);
    }
    if (portTaken) port = await freePort(0);
    else await delay(attemptPauseMs);
  }
}

function startError(paths: ClusterPaths, failure: string, takenPort: number | undefined): EmbeddedPostgresError {
  const advice =
    takenPort === undefined
      ? `The whole log is ${paths.log}. Remove the cause and start again, or set DATABASE_URL to a PostgreSQL of yours.`
      : `Port ${takenPort} is taken: choose another, or none to get a free one.`;
  return new EmbeddedPostgresError(`PostgreSQL did not start on ${paths.cluster}:\n${lastLines(failure)}\n${advice}`);
}

/** @returns undefined on success, otherwise what the server logged during this attempt. */
async function startPostmaster({ paths, binaries, account }: Server, port: number): Promise<string | undefined> {
  const logged = (await readFile(paths.log)).length;
  // Relative paths: pg_ctl puts them into a shell command, where a `$` in the folder's name would be expanded.
  const result = await run(
    binaries.pgCtl,
    [
      ...['start', '-w', '-t', String(serverTimeoutSeconds)],
      ...['-D', path.basename(paths.cluster), '-l', path.basename(paths.log)],
      ...['-o', `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=`],
    ],
    { cwd: paths.dataDir, account },
  );
  if (result.code === 0) return undefined;
  const written = (await readFile(paths.log)).subarray(logged).toString('utf8');
  return written.trim() === '' ? result.output : written;
}

async function stopPostmaster({ paths, binaries, account }: Server, pid: number): Promise<void> {
  // Another pid is a server that another process has started since; it is not ours to stop.
  if ((await findPostmaster(paths.cluster))?.pid !== pid) return;
  let output = '';
  // A fast shutdown that meets a server restarting after a crash can hang; the next start recovers from an immediate one.
  for (const [mode, seconds] of [
    ['fast', 30],
    ['immediate', serverTimeoutSeconds],
  ]) {
    const args = ['stop', '-m', String(mode), '-w', '-t', String(seconds), '-D', path.basename(paths.cluster)];
    const result = await run(binaries.pgCtl, args, { cwd: paths.dataDir, account });
    if (result.code === 0 || (await findPostmaster(paths.cluster))?.pid !== pid) return;
    output += result.output.trim();
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL (pid ${pid}) did not stop: ${output}\nLook at ${paths.log}; kill -QUIT ${pid} ends it at once, and the next start recovers what was committed.`,
  );
}

async function rememberedOrFreePort(paths: ClusterPaths): Promise<number> {
  const text = await readFile(paths.port, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  const remembered = Number(text);
  const usable = Number.isInteger(remembered) && remembered > 0 && remembered < 65_536;
  return await freePort(usable ? remembered : 0);
}

/** @returns `preferred` when nothing listens there, otherwise a port the system chose. */
function freePort(preferred: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error) => (preferred === 0 ? reject(error) : resolve(freePort(0))));
    probe.listen({ port: preferred, host: '127.0.0.1', exclusive: true }, () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : preferred;
      probe.close(() => resolve(port));
    });
  });
}
