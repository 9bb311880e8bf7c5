create or replace function planledger.queue_auto_run_set(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_auto_run boolean
)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'set_queue_auto_run';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
begin
  if p_auto_run is null then
    perform refuse_argument('auto_run', 'auto_run must be true or false.', c_operation, p_task_id, true);
  end if;
  update task_sessions s set auto_run = p_auto_run where s.task_id = p_task_id and s.id = v_session.id;
  perform queue_changed(p_task_id, v_session.id);
  perform queue_wake(p_task_id, v_session.id);
  return queue_of(p_task_id, v_session.id);
end
$$;

comment on function planledger.queue_auto_run_set(uuid, text, text, boolean) is
  'Whether the head of a queue goes out by itself when the session waits for a prompt. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported.';
