create or replace function planledger.task_get(p_principal uuid, p_task_id text)
returns table (
  id text, workspace_id text, parent_task_id text, title text, created_at timestamptz, archived_at timestamptz
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_task';
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  return query
    select t.id::text, t.workspace_id::text, t.parent_task_id::text, t.title::text, t.created_at, t.archived_at
    from tasks t where t.id = p_task_id;
end
$$;

comment on function planledger.task_get(uuid, text) is 'One task. Raises validation_error, task_unreachable.';
