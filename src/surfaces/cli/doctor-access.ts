import type { Sql } from '../../postgres/connect.ts';
import { grantees } from '../../postgres/functions.ts';
import { type Check, fail, ok, warn } from './doctor-report.ts';

const ours = ['planledger_owner', ...grantees];

/** Whether the roles exist, hold nothing they should not, and this login may act as the application. */
export async function checkRoles(sql: Sql): Promise<Check[]> {
  const rows = await sql<{ name: string; login: boolean; strong: boolean; member: boolean }[]>`
    select rolname as name, rolcanlogin as login,
      rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication as strong,
      pg_has_role(session_user, oid, 'member') as member
    from pg_roles where rolname = any (${ours})`;
  const missing = ours.filter((name) => !rows.some((row) => row.name === name));
  if (missing.length > 0) return [fail('roles', `missing: ${missing.join(', ')}`, 'Run `planledger migrate`.')];
  const strong = rows.filter((row) => row.strong).map(({ name }) => name);
  const login = rows.filter((row) => row.login).map(({ name }) => name);
  const member = rows.find(({ name }) => name === 'planledger_app')?.member;
  return [
    strong.length > 0
      ? fail(
          'roles',
          `too powerful: ${strong.join(', ')}`,
          'As a DBA: alter role … nosuperuser nobypassrls nocreaterole nocreatedb noreplication;',
        )
      : login.length > 0
        ? warn(
            'roles',
            `may log in: ${login.join(', ')}`,
            'As a DBA: alter role … nologin; and log in as a member of it.',
          )
        : ok('roles', ours.join(', ')),
    member
      ? ok('membership', 'this login may act as planledger_app')
      : fail(
          'membership',
          'this login is no member of planledger_app',
          'As a DBA: grant planledger_app to that login;',
        ),
  ];
}

/** Whether anybody but the owner can reach a table, or put something of theirs into the schema. */
export async function checkPrivileges(sql: Sql): Promise<Check[]> {
  const tables = await sql<{ grantee: string; name: string }[]>`
    select distinct case a.grantee when 0 then 'everybody' else a.grantee::regrole::text end as grantee, c.relname as name
    from pg_class c cross join aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    where c.relnamespace = to_regnamespace('planledger') and a.grantee <> c.relowner
      and not (c.relkind = 'v' and a.grantee = to_regrole('planledger_reader') and a.privilege_type = 'SELECT')
    union
    select case a.grantee when 0 then 'everybody' else a.grantee::regrole::text end, format('%s (%s)', c.relname, t.attname)
    from pg_class c join pg_attribute t on t.attrelid = c.oid cross join aclexplode(t.attacl) a
    where c.relnamespace = to_regnamespace('planledger') and a.grantee <> c.relowner
    order by 2, 1`;
  const inherited = await sql<{ name: string }[]>`
    select r.name from unnest(${grantees}::text[]) as r (name)
    where pg_has_role(r.name, 'planledger_owner', 'member')`;
  const schema = await sql<{ owner: string; creators: string[] | null }[]>`
    select n.nspowner::regrole::text as owner, (
      select array_agg(distinct case a.grantee when 0 then 'everybody' else a.grantee::regrole::text end)
      from aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
      where a.privilege_type = 'CREATE' and a.grantee <> n.nspowner) as creators
    from pg_namespace n where n.nspname = 'planledger'`;
  const complaints = [
    ...tables.map(({ grantee, name }) => `${grantee} may use ${name}`),
    ...inherited.map(({ name }) => `${name} is a member of planledger_owner`),
  ];
  const [owner] = schema;
  const intruders = [
    ...(owner?.owner === 'planledger_owner' ? [] : [`the schema belongs to ${owner?.owner}`]),
    ...(owner?.creators ?? []).map((creator) => `${creator} may create objects in the schema`),
  ];
  return [
    complaints.length === 0
      ? ok('privileges', 'the application and everybody else touch no table')
      : fail('privileges', complaints.join('; '), 'Rules live in the functions: revoke what is named here.'),
    intruders.length === 0
      ? ok('ownership', 'planledger_owner owns the schema')
      : fail(
          'ownership',
          intruders.join('; '),
          'As a DBA: alter schema planledger owner to planledger_owner; revoke create on schema planledger from …;',
        ),
  ];
}

/** Whether something the rules rely on was switched off or broken. */
export async function checkIntegrity(sql: Sql): Promise<Check> {
  const rows = await sql<{ complaint: string }[]>`
    select format('trigger %s of %s is disabled', t.tgname, t.tgrelid::regclass) as complaint
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = to_regnamespace('planledger') and t.tgenabled <> 'O'
    union all
    select format('index %s is invalid', i.indexrelid::regclass)
    from pg_index i join pg_class c on c.oid = i.indrelid
    where c.relnamespace = to_regnamespace('planledger') and not (i.indisvalid and i.indisready)
    union all
    select format('constraint %s of %s is not validated', k.conname, k.conrelid::regclass)
    from pg_constraint k where k.connamespace = to_regnamespace('planledger') and k.conrelid <> 0 and not k.convalidated
    union all
    select format('trigger %s of %s is not Planledger''s', t.tgname, t.tgrelid::regclass)
    from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
    where c.relnamespace = to_regnamespace('planledger') and not t.tgisinternal
      and p.pronamespace <> to_regnamespace('planledger')`;
  if (rows.length === 0) return ok('integrity', 'triggers, indexes and constraints are in force');
  return fail(
    'integrity',
    rows.map(({ complaint }) => complaint).join('; '),
    'As a DBA: alter table … enable trigger …; reindex index …; alter table … validate constraint …; drop trigger …;',
  );
}
