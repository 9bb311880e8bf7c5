import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { programVersion } from '../version.ts';
import { checkDatabaseUrl } from './connect.ts';
import { applyFunctions, dbDir, functionFiles, functionsDigest, type SqlFile } from './functions.ts';
import { migrateJobQueue } from './job-queue.ts';

/** Why a database cannot be migrated or used as it is; the message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError';
}

/** What `migrate` did. */
export interface MigrationReport {
  /** Names of the migrations it applied, in order; empty when there was nothing to do. */
  applied: string[];
  /** Whether it brought the job queue up to date and applied db/functions and db/grants.sql. */
  functionsApplied: boolean;
}

/** What a database has, compared with what this program brings. */
export interface InstallationState {
  current: boolean;
  /** What is missing or different, for people; empty when current. */
  problems: string[];
}

const oldestServer = 150000;
// Any constant of ours: every process that migrates this database takes the same lock.
const migrationLock = '7310575183460225382';

/**
 * Brings a database to this program's schema: roles, migrations, job queue, functions, grants. Any number of processes may call
 * it at once; one does the work and the others find it done. A database that is current needs no special rights.
 *
 * @param databaseUrl Connection string of a login that may create roles and the schema, used as it is.
 * @throws MigrationError for a server older than PostgreSQL 15, a database that is not UTF8 or was migrated by a newer
 *   program, and missing rights (with the statements a DBA must run); DatabaseUrlError for what is no URL of
 *   PostgreSQL; else the driver's own error, which names the cause.
 */
export async function migrate(databaseUrl: string, log: (line: string) => void = () => {}): Promise<MigrationReport> {
  checkDatabaseUrl(databaseUrl);
  const { client, pooled } = await connectDirectly(databaseUrl);
  try {
    await requireServer(client);
    const functions = await functionFiles();
    if (await isCurrent(client, functions)) return { applied: [], functionsApplied: false };
    if (pooled) {
      throw new MigrationError(
        'The database is not current, and a migration cannot go through PgBouncer. Run `planledger migrate` with a connection string of the server itself.',
      );
    }
    await client.query(`select pg_advisory_lock(${migrationLock})`);
    if (await isCurrent(client, functions)) return { applied: [], functionsApplied: false };
    const installed = await readInstallation(client);
    await createRoles(client);
    await client.query('set role planledger_owner');
    const applied = await runner({
      dbClient: client,
      dir: path.join(dbDir, 'migrations'),
      direction: 'up',
      migrationsTable: 'migrations',
      migrationsSchema: 'planledger',
      noLock: true,
      log: () => {},
    });
    for (const { name } of applied) log(`applied migration ${name}`);
    const functionsApplied = applied.length > 0 || installed?.digest !== functionsDigest(functions);
    if (functionsApplied) {
      await migrateJobQueue(databaseUrl);
      await applyFunctions(client, functions);
      log(`applied ${functions.length} files of db/functions`);
    }
    return { applied: applied.map(({ name }) => name), functionsApplied };
  } finally {
    await client.end();
  }
}

/** Compares what `installation()` of a database answers with this program, without changing anything. */
export async function installationState(
  rows: { migration: string | null; program_version: string; functions_sha256: string }[],
): Promise<InstallationState> {
  const installed = {
    migrations: rows.flatMap((row) => row.migration ?? []),
    version: rows[0]?.program_version ?? '0.0.0',
    digest: rows[0]?.functions_sha256 ?? '',
  };
  refuseNewer(installed, await migrationNames());
  const problems = await differences(installed, await functionFiles());
  return { current: problems.length === 0, problems };
}

interface Installed {
  migrations: string[];
  version: string;
  digest: string;
}

async function differences(installed: Installed, functions: SqlFile[]): Promise<string[]> {
  const missing = (await migrationNames()).filter((name) => !installed.migrations.includes(name));
  return [
    ...missing.map((name) => `migration ${name} is not applied`),
    ...(installed.digest === functionsDigest(functions)
      ? []
      : ["the database's functions are not those of this program"]),
  ];
}

/** PgBouncer refuses startup options, and a lock of the session would stay behind on a connection of its pool. */
async function connectDirectly(databaseUrl: string): Promise<{ client: pg.Client; pooled: boolean }> {
  const open = async (options: pg.ClientConfig) => {
    const client = new pg.Client({ connectionString: databaseUrl, application_name: 'planledger migrate', ...options });
    client.on('error', () => {}); // a lost connection fails the query under way, which reports it
    await client.connect();
    return client;
  };
  try {
    return { client: await open({ options: '-c lock_timeout=0' }), pooled: false };
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('unsupported startup parameter')) throw error;
    return { client: await open({}), pooled: true };
  }
}

async function isCurrent(client: pg.Client, functions: SqlFile[]): Promise<boolean> {
  const installed = await readInstallation(client);
  if (installed === undefined) return false;
  refuseNewer(installed, await migrationNames());
  return (await differences(installed, functions)).length === 0;
}

async function requireServer(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    "select current_setting('server_version_num')::int as version, current_setting('server_encoding') as encoding, current_database() as name",
  );
  const { version, encoding, name } = rows[0];
  if (version < oldestServer) {
    throw new MigrationError(`PostgreSQL 15 or newer is needed; this server is ${Math.floor(version / 10000)}.`);
  }
  if (encoding !== 'UTF8') {
    throw new MigrationError(
      `The database "${name}" is encoded in ${encoding}; Planledger needs UTF8. Create one with: create database planledger encoding 'UTF8' template template0;`,
    );
  }
}

async function readInstallation(client: pg.Client): Promise<Installed | undefined> {
  const { rows } = await client.query("select to_regprocedure('planledger.installation()') is not null as there");
  if (!rows[0].there) return undefined;
  const { rows: installed } = await client.query(
    "select i.*, to_regnamespace('planledger_jobs') is not null as has_jobs from planledger.installation() i",
  );
  return {
    migrations: installed.flatMap((row) => row.migration ?? []),
    version: installed[0]?.program_version ?? '0.0.0',
    digest: installed[0]?.has_jobs ? installed[0].functions_sha256 : '',
  };
}

function refuseNewer(installed: Installed, known: string[]): void {
  const unknown = installed.migrations.filter((name) => !known.includes(name));
  if (unknown.length > 0 || compareVersions(installed.version, programVersion) > 0) {
    throw new MigrationError(
      `The database was migrated by Planledger ${installed.version}, newer than this program (${programVersion}). ` +
        `Install that version or a later one; this one would take functions away.`,
    );
  }
}

function compareVersions(a: string, b: string): number {
  const parts = (version: string) => version.split(/[.+-]/).slice(0, 3).map(Number);
  const [left, right] = [parts(a), parts(b)];
  return left.map((part, index) => part - (right[index] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

async function createRoles(client: pg.Client): Promise<void> {
  try {
    await client.query(await readFile(path.join(dbDir, 'roles.sql'), 'utf8'));
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '42501') throw error;
    const { rows } = await client.query(
      'select quote_ident(session_user) as login, quote_ident(current_database()) as name',
    );
    const { login, name } = rows[0];
    throw new MigrationError(
      [
        `The login ${login} may not create the roles or the schema (${error.message}). A DBA must run once, in ${name}:`,
        '  create role planledger_owner nologin;',
        '  create role planledger_app nologin;',
        '  create role planledger_reader nologin;',
        '  create role planledger_worker nologin;',
        '  grant planledger_worker to planledger_owner;',
        `  grant planledger_owner, planledger_app, planledger_worker to ${login};`,
        '  create schema planledger authorization planledger_owner;',
        '  create schema planledger_jobs authorization planledger_worker;',
        'Leave out what exists, then run `planledger migrate` again.',
      ].join('\n'),
    );
  }
}

async function migrationNames(): Promise<string[]> {
  const files = await readdir(path.join(dbDir, 'migrations'));
  return files.map((file) => path.parse(file).name).sort();
}
