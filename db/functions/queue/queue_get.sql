create or replace function planledger.queue_get(p_principal uuid, p_task_id text, p_session_id text)
returns planledger.queue
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_queue';
  v_queue queue;
begin
  perform require_labels(c_operation, p_task_id);
  perform require_label('session_id', p_session_id, c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  v_queue := queue_of(p_task_id, p_session_id);
  if v_queue.session_id is null then
    perform refuse('session_not_found', c_operation, p_task_id, jsonb_build_object('session_id', p_session_id));
  end if;
  return v_queue;
end
$$;

comment on function planledger.queue_get(uuid, text, text) is
  'What waits in the queue of a session, in the order in which it goes out. Takes no lock. Raises validation_error, task_unreachable, session_not_found.';
