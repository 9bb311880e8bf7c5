create or replace function planledger.task_list(
  p_principal uuid,
  p_after_task_id text default null,
  p_limit integer default 100
)
returns table (
  id text, workspace_id text, parent_task_id text, title text, created_at timestamptz, archived_at timestamptz,
  plan_title text, plan_revision_number integer
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'list_tasks';
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform refuse_argument('limit', 'limit must be from 1 to 1000.', c_operation, p_after_task_id, false);
  end if;
  if not exists (select from principals p where p.id = p_principal and 'task:read' = any (p.scopes)) then
    perform refuse('task_unreachable', c_operation, p_after_task_id, p_reached => false);
  end if;
  return query
    select t.id::text, t.workspace_id::text, t.parent_task_id::text, t.title::text, t.created_at, t.archived_at,
      r.title::text, h.revision_number::integer
    from admissions a
      join tasks t on t.id = a.task_id
      left join plans h on h.task_id = t.id
      left join plan_revisions r on r.task_id = h.task_id and r.revision_number = h.revision_number::integer
    where a.principal_id = p_principal and (p_after_task_id is null or t.id > p_after_task_id)
    order by t.id
    limit p_limit;
end
$$;

comment on function planledger.task_list(uuid, text, integer) is
  'The tasks p_principal reaches, by id: p_limit (1 to 1,000) of those after p_after_task_id, with the title and revision number of their plans. Raises validation_error, task_unreachable.';
