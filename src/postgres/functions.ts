import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { programVersion } from '../version.ts';
import { jobQueueVersion } from './job-queue.ts';

/** The folder that holds migrations, functions, roles and grants. */
export const dbDir = fileURLToPath(new URL('../../db/', import.meta.url));

/** Who may be granted something of ours: all roles of Planledger but the owner. */
export const grantees = ['planledger_app', 'planledger_reader', 'planledger_worker'];

/** A file of db/functions, or db/grants.sql. */
export interface SqlFile {
  name: string;
  text: string;
}

/** Every file of db/functions, functions before the views that use them, and the grants last. */
export async function functionFiles(): Promise<SqlFile[]> {
  const root = path.join(dbDir, 'functions');
  const names = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.sql')).sort();
  const files = await Promise.all(
    names.map(async (name) => ({ name, text: await readFile(path.join(root, name), 'utf8') })),
  );
  const isView = ({ text }: SqlFile) => /^create or replace view/m.test(text);
  const grants = { name: 'grants.sql', text: await readFile(path.join(dbDir, 'grants.sql'), 'utf8') };
  return [...files.filter((file) => !isView(file)), ...files.filter(isView), grants];
}

/** What tells one set of files, and one version of the job queue, from another; recorded with what was applied last. */
export function functionsDigest(files: SqlFile[]): string {
  const hash = createHash('sha256').update(`${jobQueueVersion}\0`);
  for (const { name, text } of files) hash.update(`${name}\0${text}\0`);
  return hash.digest('hex');
}

/**
 * Replaces the functions and views by the files' in one transaction. A function is replaced, or dropped and made anew
 * where its result changed; one that no file made, an overload of another signature too, goes, and so does a right that
 * db/grants.sql does not give.
 */
export async function applyFunctions(client: pg.Client, files: SqlFile[]): Promise<void> {
  await client.query('begin');
  try {
    await client.query('set local check_function_bodies = off'); // files may name what comes after them
    await client.query(`do $$ declare v text; begin
      for v in select viewname from pg_views where schemaname = 'planledger' loop
        execute format('drop view planledger.%I cascade', v);
      end loop; end $$`);
    // A function that is replaced keeps its rights; what it should have, db/grants.sql says.
    await client.query(`revoke all on all functions in schema planledger from public, ${grantees.join(', ')}`);
    const before = await functionVersions(client);
    for (const file of files) await applyFile(client, file);
    // A function that a file made has a new row version now.
    for (const [signature, version] of await functionVersions(client)) {
      if (before.get(signature) === version) await client.query(`drop function ${signature}`);
    }
    await client.query(
      `insert into planledger.installed (program_version, functions_sha256) values ($1, $2)
       on conflict (singleton) do update set program_version = excluded.program_version, functions_sha256 = excluded.functions_sha256`,
      [programVersion, functionsDigest(files)],
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
