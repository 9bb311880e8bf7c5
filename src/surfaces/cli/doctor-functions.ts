import path from 'node:path';
import type { Sql } from '../../postgres/connect.ts';
import { functionFiles, grantees } from '../../postgres/functions.ts';
import { type Check, fail, ok } from './doctor-report.ts';

/** What puts functions and views back. */
export const again =
  'Put them back with: delete from planledger.installed; and then `planledger migrate`, as a member of planledger_owner.';
const away = 'Nothing of Planledger needs them. As a DBA look at what they do, then drop them.';

interface FunctionRow {
  name: string;
  body: string;
  definer: boolean;
  pinned: boolean;
  strict: boolean;
  settings: number;
}

/**
 * Compares the functions and views in the database with their files, text by text: the recorded digest says what was
 * applied, not what somebody has changed since.
 */
export async function checkFunctions(sql: Sql): Promise<Check[]> {
  const files = await filesByName();
  files.delete('grants');
  const rows = await sql<FunctionRow[]>`
    select p.proname as name, p.prosrc as body, p.prosecdef as definer,
      coalesce('search_path=planledger, pg_temp' = any (p.proconfig), false) as pinned, p.proisstrict as strict,
      coalesce(cardinality(p.proconfig), 0) as settings
    from pg_proc p where p.pronamespace = to_regnamespace('planledger') order by p.proname`;
  const views = await sql<{ name: string }[]>`
    select viewname as name from pg_views where schemaname = 'planledger'`;
  const found = new Set([...rows, ...views].map(({ name }) => name));
  const foreign = [...found].filter((name) => !files.has(name));
  const changed = [
    ...[...files.keys()].filter((name) => !found.has(name)).map((name) => `${name} is missing`),
    ...rows.flatMap((row) => differences(row, files.get(row.name))),
    ...rows.filter((row, index) => rows[index - 1]?.name === row.name).map(({ name }) => `${name} is there twice`),
  ];
  return [
    changed.length === 0
      ? ok('functions', `${files.size} functions and views as in db/functions`)
      : fail('functions', changed.join('; '), again),
    foreign.length === 0
      ? ok('strangers', 'nothing in the schema but what is in db/functions')
      : fail('strangers', foreign.map((name) => `${name} is not Planledger's`).join('; '), away),
  ];
}

function differences(row: FunctionRow, file: string | undefined): string[] {
  if (file === undefined) return [];
  const [header = '', body] = file.split(/\$\$/);
  return [
    ...(row.body === body ? [] : [`${row.name} differs from its file`]),
    ...(row.definer === /security definer/.test(header) ? [] : [`${row.name} has another security mode`]),
    ...(row.pinned === /set search_path/.test(header) ? [] : [`${row.name} has another search_path`]),
    ...(row.strict ? [`${row.name} is strict`] : []),
    ...(row.settings === (header.match(/^set /gm) ?? []).length ? [] : [`${row.name} has other settings`]),
  ];
}

/** Whether nobody but whom db/grants.sql names may execute a function, and none runs with another owner's rights. */
export async function checkExecution(sql: Sql): Promise<Check> {
  const files = await filesByName();
  const granted = [...(files.get('grants') ?? '').matchAll(/planledger\.(\w+)\(/g)].map((match) => match[1] ?? '');
  const names = [...files.keys()];
  const rows = await sql<{ complaint: string; cure: string }[]>`
    select format('%s belongs to %s', p.proname, p.proowner::regrole) as complaint,
      format('alter function %s owner to planledger_owner;', p.oid::regprocedure) as cure
    from pg_proc p
    where p.pronamespace = to_regnamespace('planledger') and p.proname = any (${names}) and p.proowner <> to_regrole('planledger_owner')
    union all
    select format('%s may execute %s', who.name, p.proname),
      format('revoke execute on function %s from %s;', p.oid::regprocedure, who.name)
    from pg_proc p cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      cross join lateral (select case a.grantee when 0 then 'public' else a.grantee::regrole::text end as name) who
    where p.pronamespace = to_regnamespace('planledger') and p.proname = any (${names}) and a.grantee <> p.proowner
      and not (p.proname = any (${granted}) and who.name = any (${grantees}))`;
  if (rows.length === 0) return ok('execution', 'functions are executed by whom db/grants.sql names');
  return fail(
    'execution',
    rows.map(({ complaint }) => complaint).join('; '),
    `As a DBA: ${rows.map(({ cure }) => cure).join(' ')}`,
  );
}

async function filesByName(): Promise<Map<string, string>> {
  return new Map((await functionFiles()).map(({ name, text }) => [path.parse(name).name, text]));
}
