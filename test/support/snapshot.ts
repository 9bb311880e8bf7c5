import type { Sql } from '../../src/postgres/connect.ts';

/** Everything that matters of the schema, as text that is the same on every supported server. */
export async function schemaSnapshot(sql: Sql): Promise<string> {
  const rows = await sql<{ line: string }[]>`
    with ours as (select 'planledger'::regnamespace as ns),
    relation as (select c.* from pg_class c, ours where c.relnamespace = ours.ns and c.relkind in ('r', 'v', 'S')
      and c.relname not like 'migrations%'),
    lines as (
      select 1 as part, n.nspname::text as place, 'schema ' || n.nspname || ' owner ' || n.nspowner::regrole || ' acl '
        || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(n.nspacl) a), '-') as line
      from pg_namespace n, ours where n.oid = ours.ns
      union all
      select 2, t.typname::text, 'type ' || t.typname || ' ' || case t.typtype when 'd' then 'domain ' || format_type(t.typbasetype, null)
          || coalesce((select string_agg(' ' || pg_get_constraintdef(k.oid), '' order by k.conname) from pg_constraint k where k.contypid = t.oid and k.contype = 'c'), '')
        else 'composite' || (select string_agg(' ' || a.attname || ' ' || format_type(a.atttypid, null), ',' order by a.attnum) from pg_attribute a where a.attrelid = t.typrelid and a.attnum > 0) end
        || ' owner ' || t.typowner::regrole || ' acl ' || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(t.typacl) a), '-')
        || ' -- ' || coalesce(obj_description(t.oid, 'pg_type'), 'NO COMMENT')
      from pg_type t, ours where t.typnamespace = ours.ns
        and (t.typtype = 'd' or (t.typtype = 'c' and exists (select from pg_class c where c.oid = t.typrelid and c.relkind = 'c')))
      union all
      select 3, c.relname::text, case c.relkind when 'r' then 'table ' when 'v' then 'view ' else 'sequence ' end || c.relname || ' owner ' || c.relowner::regrole
        || ' acl ' || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(c.relacl) a where a::text not like c.relowner::regrole || '=%'), '-') || ' options ' || coalesce(array_to_string(c.reloptions, ','), '-')
        || ' -- ' || case c.relkind when 'S' then '' else coalesce(obj_description(c.oid, 'pg_class'), 'NO COMMENT') end
      from relation c
      union all
      select 3, c.relname || '.' || lpad(a.attnum::text, 3, '0'), '  column ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
        || case when a.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
        || case a.attidentity when '' then '' else ' identity ' || a.attidentity::text end
        || ' -- ' || coalesce(col_description(c.oid, a.attnum), 'NO COMMENT')
      from relation c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relkind <> 'S'
      union all
      select 3, c.relname || '.k' || k.conname, '  constraint ' || k.conname || ' ' || pg_get_constraintdef(k.oid)
      from relation c join pg_constraint k on k.conrelid = c.oid and k.contype <> 'n'
      union all
      select 3, c.relname || '.x' || i.relname, '  ' || pg_get_indexdef(x.indexrelid)
      from relation c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid
      union all
      select 3, c.relname || '.z' || t.tgname, '  ' || pg_get_triggerdef(t.oid) || ' -- ' || coalesce(obj_description(t.oid, 'pg_trigger'), 'NO COMMENT')
      from relation c join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal
      union all
      select 4, p.proname::text, 'function ' || p.proname || '(' || pg_get_function_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid)
        || ' language ' || l.lanname || ' ' || p.provolatile::text || case when p.prosecdef then ' security definer' else '' end || ' parallel ' || p.proparallel::text
        || ' set ' || coalesce(array_to_string(p.proconfig, '; '), '-') || ' owner ' || p.proowner::regrole
        || ' acl ' || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(p.proacl) a), 'PUBLIC')
        || ' body ' || md5(p.prosrc) || ' -- ' || coalesce(obj_description(p.oid, 'pg_proc'), 'NO COMMENT')
      from pg_proc p join pg_language l on l.oid = p.prolang, ours where p.pronamespace = ours.ns
    )
    select line from lines order by part, place collate "C", line collate "C"`;
  return `${rows.map(({ line }) => line).join('\n')}\n`;
}

interface FunctionRow {
  name: string;
  operation: string;
  writes: boolean;
  arguments: string[];
  types: string[];
  optional: number;
  columns: { name: string; type: string }[];
  scalar: string | null;
  comment: string;
}

const many = new Set([
  'error_catalog',
  'event_audience',
  'events_read',
  'installation',
  'revision_list',
  'task_list',
  'token_list',
]);
const maybe = new Set(['plan_get']);
const nullable = new Set([
  'archived_at',
  'display_name',
  'expires_at',
  'implementation_started_at',
  'implementation_started_by',
  'implementation_started_session_id',
  'migration',
  'next_before_revision_number',
  'parent_task_id',
  'plan_revision_number',
  'plan_title',
  'restored_from',
  'revoked_at',
]);
/** Refused when they are absent, and so asked for by the types. */
const named: Record<string, Set<string>> = {
  plan_edit: new Set(['expected_version', 'old_text', 'new_text']),
  plan_restore: new Set(['expected_version', 'expected_revision_version']),
};
const nullableIn: Record<string, Set<string>> = {
  principal_create: new Set(['task_id', 'session_id']),
  comment_create: new Set(['plan_id']),
  events_read: new Set(['id', 'task_id', 'kind', 'plan_id', 'revision_id', 'revision_number', 'coalesced']),
  token_authenticate: new Set(['task_id', 'session_id']),
  token_list: new Set(['task_id']),
  plan_mark_implementation_started: new Set(),
  token_revoke: new Set(),
  task_archive: new Set(),
};

/** src/ledger/generated.ts as the database's catalogue has it. */
export async function generatedTypes(sql: Sql): Promise<string> {
  const functions = await sql<FunctionRow[]>`
    select p.proname as name,
      coalesce(substring(p.prosrc from 'c_operation constant text := ''([a-z_]+)'''), substring(p.prosrc from 'plan_put[(]''([a-z_]+)'''), p.proname) as operation,
      p.provolatile = 'v' as writes,
      (select array_agg(substr(a, 3) order by o) from unnest(p.proargnames[:p.pronargs]) with ordinality u (a, o)) as arguments,
      (select array_agg(format_type(a, null) order by o) from unnest(p.proargtypes::oid[]) with ordinality u (a, o)) as types,
      p.pronargdefaults as optional,
      coalesce(
        (select json_agg(json_build_object('name', p.proargnames[o], 'type', format_type(p.proallargtypes[o], null)) order by o)
          from generate_subscripts(p.proallargtypes, 1) o where p.proargmodes[o] = 't'),
        (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
          from pg_attribute a join pg_type t on t.typrelid = a.attrelid where t.oid = p.prorettype and a.attnum > 0),
        '[]') as columns,
      case when t.typtype in ('b', 'd') and p.proallargtypes is null then format_type(p.prorettype, null) end as scalar,
      obj_description(p.oid, 'pg_proc') as comment
    from pg_proc p join pg_type t on t.oid = p.prorettype
    where p.pronamespace = 'planledger'::regnamespace and (p.prosecdef or p.proname in ('error_catalog', 'content_max_bytes'))
    order by p.proname`;
  return [
    '// Written from the database by `npm run snapshot`. Do not edit.',
    '',
    "import type { CallOptions } from './ledger.ts';",
    '',
    ...functions.flatMap(rowType),
    '/** A pending comment of a snapshot. */',
    'export interface PlanComment {',
    '  id: string;',
    '  task_id: string;',
    '  plan_id: string;',
    '  body: string;',
    '  selected_text: string;',
    '  anchor_from: number;',
    '  anchor_to: number;',
    '  version: number;',
    '  created_at: string;',
    '  updated_at: string;',
    '}',
    '',
    '/** One method for each function of the schema; its text is the comment on that function. */',
    'export interface Ledger {',
    ...functions.flatMap(method),
    '}',
    '',
    '/** How each method calls its function. */',
    'export const signatures = {',
    ...functions.map(
      (f) =>
        `  ${camel(f.name)}: { function: '${f.name}', operation: '${f.operation}', arguments: ${JSON.stringify(f.arguments ?? [])}, required: ${(f.arguments ?? []).length - f.optional}, writes: ${f.writes}, many: ${many.has(f.name)} },`,
    ),
    '} as const satisfies Record<keyof Ledger, { function: string; operation: string; arguments: readonly string[]; required: number; writes: boolean; many: boolean }>;',
    '',
  ].join('\n');
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const pascal = (name: string) => camel(`_${name}`);

function rowName(f: FunctionRow): string {
  const has = (column: string) => f.columns.some(({ name }) => name === column);
  return has('outcome') ? 'PlanWriteAck' : has('comments') ? 'CommentSnapshot' : `${pascal(f.name)}Row`;
}

const rowOf: Record<string, string> = {
  PlanWriteAck: 'every plan write',
  CommentSnapshot: 'every comment function: all pending comments of a task, in one committed state',
};

const written = new Set<string>();

function rowType(f: FunctionRow, index: number): string[] {
  if (index === 0) written.clear();
  const name = rowName(f);
  if (written.has(name)) return [];
  written.add(name);
  const columns = f.scalar === null ? f.columns : [{ name: f.name, type: f.scalar }];
  const isNull = (column: string) =>
    nullableIn[f.name]?.has(column) || (nullable.has(column) && !(nullableIn[f.name]?.size === 0));
  return [
    `/** A row of ${rowOf[name] ?? `\`${f.name}\``}. */`,
    `export interface ${name} {`,
    ...columns.map((column) => `  ${column.name}: ${tsType(column.type)}${isNull(column.name) ? ' | null' : ''};`),
    '}',
    '',
  ];
}

function method(f: FunctionRow): string[] {
  const names = f.arguments ?? [];
  const list = names.map((name, index) => {
    const optional = index >= names.length - f.optional && !named[f.name]?.has(name);
    const accepts = name === 'principal' || !['text', 'uuid'].includes(f.types[index] ?? '') ? '' : ' | null';
    return `${name}${optional ? '?' : ''}: ${tsType(f.types[index] ?? '')}${optional ? ' | null | undefined' : accepts}`;
  });
  const row = rowName(f);
  const result = many.has(f.name) ? `${row}[]` : maybe.has(f.name) ? `${row} | null` : row;
  return [
    `  /** ${f.comment} */`,
    `  ${camel(f.name)}(values: { ${list.join('; ')} }, options?: CallOptions): Promise<${result}>;`,
  ];
}

function tsType(type: string): string {
  switch (type) {
    case 'boolean':
      return 'boolean';
    case 'integer':
      return 'number';
    case 'jsonb':
      return 'PlanComment[]';
    case 'bytea':
      return 'Uint8Array';
    case 'text[]':
    case 'uuid[]':
      return 'string[]';
    case 'timestamp with time zone':
      return 'Date';
    default:
      return 'string';
  }
}
