import type { Sql } from '../../../src/postgres/connect.ts';

/**
 * What is wrong with the plans and histories of a database; empty when nothing is. Read from the tables alone, so that
 * no function of ours vouches for itself.
 */
export async function historyProblems(admin: Sql): Promise<string[]> {
  const rows = await admin<{ problem: string }[]>`
    with revision as (
      select r.task_id, r.revision_number, r.content_bytes, r.content_chars, r.first_segment, r.last_segment,
        s.bodies || r.tail as content, s.segments
      from planledger.plan_revisions r
        cross join lateral (
          select string_agg(g.body, E'\n\n' order by g.seq) as bodies, count(*) as segments
          from planledger.plan_segments g
          where g.task_id = r.task_id and g.seq between r.first_segment and r.last_segment
        ) s
    )
    select format('%s: numbers have a gap', task_id) as problem from revision
    group by task_id having min(revision_number) <> 1 or max(revision_number) <> count(*)
    union all
    select format('%s: HEAD is revision %s', p.task_id, p.revision_number) from planledger.plans p
    where p.revision_number is distinct from
      (select max(r.revision_number) from revision r where r.task_id = p.task_id)
    union all
    select format('%s: revision %s does not make its recorded size', task_id, revision_number) from revision
    where content is null or octet_length(content) <> content_bytes or char_length(content) <> content_chars
      or segments <> last_segment - first_segment + 1
    union all
    select format('%s: segment %s belongs to no revision', s.task_id, s.seq) from planledger.plan_segments s
    where not exists (select from planledger.plan_revisions r
      where r.task_id = s.task_id and s.seq between r.first_segment and r.last_segment)
    union all
    select format('%s: %s events of writes for %s revisions', e.task_id, count(*), max(e.revision_number))
    from planledger.events e where e.kind in ('plan.created', 'plan.updated') and not e.coalesced
      and exists (select from planledger.tasks t where t.id = e.task_id)
      -- Events outlive their task, and another may have taken its id.
      and e.id > coalesce((select max(d.id) from planledger.events d
        where d.task_id = e.task_id and d.kind = 'task.deleted'), 0)
    group by e.task_id having count(*) <> max(e.revision_number)`;
  return rows.map(({ problem }) => problem);
}
