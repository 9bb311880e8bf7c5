create or replace function planledger.message_get(p_principal uuid, p_task_id text, p_message_id uuid)
returns setof planledger.message
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_message';
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  return query select o.* from message_of(p_task_id, p_message_id) o where o.id is not null;
end
$$;

comment on function planledger.message_get(uuid, text, uuid) is
  'One message of a transcript; no row where the task has none of that id. Takes no lock. Raises validation_error, task_unreachable.';
