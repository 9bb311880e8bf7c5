import { randomBytes } from 'node:crypto';
import { chown, link, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type Account, type EmbeddedBinaries, EmbeddedPostgresError, run } from './programs.ts';

/** Where the parts of one embedded cluster live. */
export interface ClusterPaths {
  dataDir: string;
  cluster: string;
  log: string;
  password: string;
  port: string;
}

/** @param dataDir - absolute, with links resolved: the postmaster is recognised by its working directory. */
export function clusterPaths(dataDir: string): ClusterPaths {
  const cluster = path.join(dataDir, 'postgres');
  return { dataDir, cluster, log: `${cluster}.log`, password: `${cluster}.password`, port: `${cluster}.port` };
}

// An initdb takes seconds; a folder that old has no process left that fills it.
const abandonedAfterMs = 10 * 60_000;

/**
 * Makes sure that an initialised cluster, its superuser password and its log file are there. Safe when several
 * processes do it at once, and when one is killed at any point.
 *
 * @returns the superuser password.
 */
export async function ensureCluster(
  paths: ClusterPaths,
  binaries: EmbeddedBinaries,
  account: Account | undefined,
  log: (line: string) => void,
): Promise<string> {
  await removeAbandoned(paths);
  const initialised = await exists(path.join(paths.cluster, 'PG_VERSION'));
  const password = await ensurePassword(paths, account, initialised);
  if (!initialised) {
    log(`initialising a PostgreSQL cluster in ${paths.cluster}`);
    await initialise(paths, binaries, account);
  }
  if (account !== undefined && (await stat(paths.cluster)).uid !== account.uid) {
    // Copied there by root, from a backup for instance.
    await run('chown', ['-R', `${account.uid}:${account.gid}`, paths.cluster], { cwd: paths.dataDir });
  }
  await (await open(paths.log, 'a', 0o600)).close();
  await giveTo(account, paths.log);
  return password;
}

async function initialise(
  paths: ClusterPaths,
  binaries: EmbeddedBinaries,
  account: Account | undefined,
): Promise<void> {
  const present = await readdir(paths.cluster).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (present.includes('PG_VERSION')) return;
  if (present.length > 0) {
    throw new EmbeddedPostgresError(
      `${paths.cluster} is not empty and holds no PostgreSQL cluster. Move it away, or use another --data-dir.`,
    );
  }
  const staging = `${paths.cluster}.init-${randomBytes(6).toString('hex')}`;
  try {
    await mkdir(staging, { mode: 0o700 });
    await giveTo(account, staging);
    await initdb(paths, binaries, account, staging);
    await rename(staging, paths.cluster).catch(async (error: NodeJS.ErrnoException) => {
      // A process that started beside this one was faster; both used the same password.
      if (!(await exists(path.join(paths.cluster, 'PG_VERSION')))) throw error;
    });
    await syncFolder(paths.dataDir);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function initdb(
  paths: ClusterPaths,
  binaries: EmbeddedBinaries,
  account: Account | undefined,
  target: string,
): Promise<void> {
  const args = [
    `--pgdata=${target}`,
    `--pwfile=${paths.password}`,
    '--username=postgres',
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--data-checksums',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ];
  const options = { cwd: paths.dataDir, account };
  let result = await run(binaries.initdb, [...args, '--locale=C.UTF-8'], options);
  // The provider is PostgreSQL's own and always there; the system may lack the locale of the same name.
  if (result.code !== 0 && result.output.includes('invalid locale name')) {
    result = await run(binaries.initdb, [...args, '--locale=C'], options);
  }
  if (result.code === 0) return;
  throw new EmbeddedPostgresError(
    `PostgreSQL could not initialise ${paths.cluster}:\n${lastLines(result.output)}\nRemove the cause and start again (nothing half-made is left behind), or set DATABASE_URL.`,
  );
}

async function ensurePassword(
  paths: ClusterPaths,
  account: Account | undefined,
  initialised: boolean,
): Promise<string> {
  if (!(await exists(paths.password))) {
    if (initialised) {
      throw new EmbeddedPostgresError(
        `${paths.password}, the password of the cluster in ${paths.cluster}, is missing. Restore that file, or move the cluster away to begin an empty one.`,
      );
    }
    const draft = `${paths.password}.init-${randomBytes(6).toString('hex')}`;
    await writeFile(draft, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true });
    await giveTo(account, draft);
    // link, unlike rename, never replaces the password another process has just given its cluster.
    await link(draft, paths.password).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await rm(draft);
  }
  return (await readFile(paths.password, 'utf8')).trim();
}

async function removeAbandoned(paths: ClusterPaths): Promise<void> {
  for (const name of await readdir(paths.dataDir)) {
    if (!/^postgres(\.password)?\.init-[0-9a-f]+$/.test(name)) continue;
    const entry = path.join(paths.dataDir, name);
    const found = await stat(entry).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs) {
      await rm(entry, { recursive: true, force: true });
    }
  }
}

// Without it a power failure may undo the rename, and what was committed since would be in a folder that looks abandoned.
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function giveTo(account: Account | undefined, file: string): Promise<void> {
  if (account !== undefined) await chown(file, account.uid, account.gid);
}

async function exists(file: string): Promise<boolean> {
  return await stat(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}

/** The last 15 lines of a program's output. */
export function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-15).join('\n');
}
