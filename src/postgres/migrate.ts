import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { runner } from 'node-pg-migrate';
import pg from 'pg';
import { programVersion } from '../version.ts';

/** Why a database cannot be migrated or used as it is; the message says what to do. */
export class MigrationError extends Error {
  override name = 'MigrationError';
}

/** What `migrate` did. */
export interface MigrationReport {
  /** Names of the migrations it applied, in order; empty when there was nothing to do. */
  applied: string[];
  /** Whether it applied db/functions and db/grants.sql. */
  functionsApplied: boolean;
}

/** What a database has, compared with what this program brings. */
export interface InstallationState {
  current: boolean;
  /** What is missing or different, for people; empty when current. */
  problems: string[];
}

const dbDir = fileURLToPath(new URL('../../db/', import.meta.url));
const oldestServer = 150000;
// Any constant of ours: every process that migrates this database takes the same lock.
const migrationLock = '7310575183460225382';

interface SqlFile {
  name: string;
  text: string;
}

/**
 * Brings a database to this program's schema: roles, migrations, functions, grants. Any number of processes may call
 * it at once; one does the work and the others find it done. A database that is current needs no special rights.
 *
 * @param databaseUrl Connection string of a login that may create roles and the schema, used as it is.
 * @throws MigrationError for a server older than PostgreSQL 15, a database that is not UTF8 or was migrated by a newer
 *   program, and missing rights (with the statements a DBA must run).
 */
export async function migrate(databaseUrl: string, log: (line: string) => void = () => {}): Promise<MigrationReport> {
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
    const functionsApplied = applied.length > 0 || installed?.digest !== digest(functions);
    if (functionsApplied) {
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
    ...(installed.digest === digest(functions) ? [] : ["the database's functions are not those of this program"]),
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
  const { rows: installed } = await client.query('select * from planledger.installation()');
  return {
    migrations: installed.flatMap((row) => row.migration ?? []),
    version: installed[0]?.program_version ?? '0.0.0',
    digest: installed[0]?.functions_sha256 ?? '',
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
        `  grant planledger_owner, planledger_app to ${login};`,
        '  create schema planledger authorization planledger_owner;',
        'Leave out what exists, then run `planledger migrate` again.',
      ].join('\n'),
    );
  }
}

async function migrationNames(): Promise<string[]> {
  const files = await readdir(path.join(dbDir, 'migrations'));
  return files.map((file) => path.parse(file).name).sort();
}

/** Every file of db/functions, functions before the views that use them, and the grants last. */
async function functionFiles(): Promise<SqlFile[]> {
  const root = path.join(dbDir, 'functions');
  const names = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.sql')).sort();
  const files = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(path.join(root, name), 'utf8') })),
  );
  const isView = ({ text }: SqlFile) => /^create or replace view/m.test(text);
  const grants = { name: 'grants.sql', text: await readFile(path.join(dbDir, 'grants.sql'), 'utf8') };
  return [...files.filter((file) => !isView(file)), ...files.filter(isView), grants];
}

function digest(files: SqlFile[]): string {
  const hash = createHash('sha256');
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`);
  return hash.digest('hex');
}

/**
 * Replaces the functions and views by the files' in one transaction. A function is replaced, or dropped and made anew
 * where its result changed; one that no file made, an overload of another signature too, goes.
 */
async function applyFunctions(client: pg.Client, files: SqlFile[]): Promise<void> {
  await client.query('begin');
  try {
    await client.query('set local check_function_bodies = off'); // files may name what comes after them
    await client.query(`do $$ declare v text; begin
      for v in select viewname from pg_views where schemaname = 'planledger' loop
        execute format('drop view planledger.%I cascade', v);
      end loop; end $$`);
    const before = await functionVersions(client);
    for (const file of files) await applyFile(client, file);
    // A function that a file made has a new row version now.
    for (const [signature, version] of await functionVersions(client)) {
      if (before.get(signature) === version) await client.query(`drop function ${signature}`);
    }
    await client.query(
      `insert into planledger.installed (program_version, functions_sha256) values ($1, $2)
       on conflict (singleton) do update set program_version = excluded.program_version, functions_sha256 = excluded.functions_sha256`,
      [programVersion, digest(files)],
    );
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function functionVersions(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query(
    "select oid::regprocedure::text as signature, xmin::text as version from pg_proc where pronamespace = 'planledger'::regnamespace",
  );
  return new Map(rows.map(({ signature, version }) => [signature, version]));
}

async function applyFile(client: pg.Client, { name, text }: SqlFile): Promise<void> {
  await client.query('savepoint file');
  try {
    await client.query(text);
  } catch (error) {
    // A function whose result or argument names changed cannot be replaced, only dropped.
    if (!(error instanceof pg.DatabaseError) || error.code !== '42P13') {
      throw new Error(`db/functions/${name}: ${error instanceof Error ? error.message : error}`, { cause: error });
    }
    await client.query('rollback to savepoint file');
    await client.query(`do $$ declare v_function regprocedure; begin
      for v_function in select oid from pg_proc
        where pronamespace = 'planledger'::regnamespace and proname = '${path.parse(name).name}'
      loop execute format('drop function %s', v_function); end loop; end $$`);
    await client.query(text);
  }
  await client.query('release savepoint file');
}
