import { connectionSettings, type Sql } from '../../postgres/connect.ts';
import { installationState, MigrationError } from '../../postgres/migrate.ts';
import { type Check, fail, ok, warn } from './doctor-report.ts';

const newestTested = 18;

/** Version, encoding and state of the server. */
export async function checkServer(sql: Sql): Promise<Check[]> {
  const [row] = await sql<{ version: number; text: string; encoding: string; standby: boolean; name: string }[]>`
    select current_setting('server_version_num')::integer / 10000 as version, current_setting('server_version') as text,
      current_setting('server_encoding') as encoding, pg_is_in_recovery() as standby, current_database() as name`;
  if (row === undefined) throw new Error('The server answered nothing.');
  const version =
    row.version < 15
      ? fail('version', `PostgreSQL ${row.text}`, 'Planledger needs PostgreSQL 15 or newer.')
      : row.version > newestTested
        ? warn('version', `PostgreSQL ${row.text}`, `Planledger is tested up to PostgreSQL ${newestTested}.`)
        : ok('version', `PostgreSQL ${row.text}`);
  const encoding =
    row.encoding === 'UTF8'
      ? ok('encoding', 'UTF8')
      : fail(
          'encoding',
          row.encoding,
          `Move to a UTF8 database: create database planledger encoding 'UTF8' template template0;`,
        );
  const primary = row.standby
    ? fail('primary', 'a read-only standby', 'Connect to the primary: every write needs it.')
    : ok('primary', 'accepts writes');
  return [version, encoding, primary];
}

/** Whether the migrations and functions that were applied are those of this program. */
export async function checkInstallation(sql: Sql): Promise<Check> {
  const [there] = await sql<{ there: boolean }[]>`
    select to_regprocedure('planledger.installation()') is not null as there`;
  if (!there?.there) return fail('schema', 'Planledger is not installed here', 'Run `planledger migrate`.');
  const rows = await sql<{ migration: string | null; program_version: string; functions_sha256: string }[]>`
    select * from planledger.installation()`;
  try {
    const { problems } = await installationState(rows);
    if (problems.length > 0) return fail('schema', problems.join('; '), 'Run `planledger migrate`.');
  } catch (error) {
    if (error instanceof MigrationError) return fail('schema', 'newer than this program', error.message);
    throw error;
  }
  return ok('schema', `all ${rows.length} migrations applied, functions of version ${rows[0]?.program_version}`);
}

/** The settings a connection of the server has, asked on one. */
export async function checkSettings(app: Sql): Promise<Check[]> {
  const wanted = Object.entries(connectionSettings).map(([name, value]) => ({
    name,
    value: typeof value === 'number' ? `${value}ms` : value,
  }));
  const rows = await app<{ name: string; value: string; off: boolean; long: boolean; login: string }[]>`
    select w.name, current_setting(w.name) as value, current_setting(w.name)::interval = interval '0' as off,
      current_setting(w.name)::interval > w.value::interval as long, quote_ident(session_user) as login
    from json_to_recordset(${JSON.stringify(wanted)}::text::json) as w (name text, value text)`;
  const settings = rows.map(({ name, value, off, long, login }) => {
    const set = `alter role ${login} set ${name} = '${wanted.find((entry) => entry.name === name)?.value}';`;
    if (off) {
      return fail(name, 'off', `Without it a killed or frozen client may still write or hold a lock. As a DBA: ${set}`);
    }
    return long ? warn(name, value, `Longer than need be. As a DBA: ${set}`) : ok(name, value);
  });
  const [session] = await app<{ isolation: string; read_only: boolean; login: string; role: string }[]>`
    select current_setting('transaction_isolation') as isolation, current_setting('transaction_read_only')::boolean as read_only,
      quote_ident(session_user) as login, current_user as role`;
  if (session?.isolation !== 'read committed') {
    const set = `alter role ${session?.login} set default_transaction_isolation = 'read committed';`;
    settings.push(fail('isolation', String(session?.isolation), `Every write is refused under it. As a DBA: ${set}`));
  }
  if (session?.read_only) {
    const set = `alter role ${session.login} set default_transaction_read_only = off;`;
    settings.push(fail('read only', 'transactions are read-only', `Every write fails. As a DBA: ${set}`));
  }
  return settings;
}

/** Locks that have been held or waited for longer than any call should. */
export async function checkLocks(sql: Sql): Promise<Check> {
  const rows = await sql<{ kind: string; task_id: string; state: string; pid: number; seconds: number }[]>`
    select kind, task_id, state, pid, extract(epoch from since)::integer as seconds
    from planledger.locks where since > (select lock_wait from planledger.settings) order by since desc limit 20`;
  if (rows.length === 0) return ok('locks', 'none held or waited for longer than a call may wait');
  return warn(
    'locks',
    rows
      .map(
        ({ kind, task_id, state, pid, seconds }) =>
          `backend ${pid} ${state} the ${kind} lock of task ${task_id} for ${seconds} s`,
      )
      .join('; '),
    'select * from planledger.locks; shows what they do. select pg_terminate_backend(PID); ends one and frees its lock.',
  );
}
