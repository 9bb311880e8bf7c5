import type { Sql } from './connect.ts';

/**
 * Everything that matters of the schema, a line each, as text that is the same on every supported server; the bodies of
 * views are not among it, because servers print them differently. db/schema.txt has it as it should be.
 */
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
        || case c.relpersistence when 'u' then ' unlogged' else '' end
        || case when c.relrowsecurity or c.relforcerowsecurity then ' row security' else '' end
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
      select 3, c.relname || '.w' || w.rulename, '  rule ' || w.rulename || ' on ' || c.relname
      from relation c join pg_rewrite w on w.ev_class = c.oid where c.relkind = 'r'
      union all
      select 4, p.proname::text, 'function ' || p.proname || '(' || pg_get_function_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid)
        || ' language ' || l.lanname || ' ' || p.provolatile::text || case when p.prosecdef then ' security definer' else '' end || case when p.proisstrict then ' strict' else '' end || ' parallel ' || p.proparallel::text
        || ' set ' || coalesce(array_to_string(p.proconfig, '; '), '-') || ' owner ' || p.proowner::regrole
        || ' acl ' || coalesce((select string_agg(a::text, ' ' order by a::text) from unnest(p.proacl) a), 'PUBLIC')
        || ' body ' || md5(p.prosrc) || ' -- ' || coalesce(obj_description(p.oid, 'pg_proc'), 'NO COMMENT')
      from pg_proc p join pg_language l on l.oid = p.prolang, ours where p.pronamespace = ours.ns
    )
    select line from lines order by part, place collate "C", line collate "C"`;
  return `${rows.map(({ line }) => line).join('\n')}\n`;
}
