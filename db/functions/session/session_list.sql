create or replace function planledger.session_list(p_principal uuid, p_task_id text)
returns setof planledger.session
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'list_sessions';
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  return query
    select o.* from task_sessions s cross join session_of(s.task_id, s.id) o
    where s.task_id = p_task_id order by s.created_at, s.id;
end
$$;

comment on function planledger.session_list(uuid, text) is
  'The sessions of p_task_id by creation time. Takes no lock. Raises validation_error, task_unreachable.';
