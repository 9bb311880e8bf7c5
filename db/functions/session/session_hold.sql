create or replace function planledger.session_hold(p_operation text, p_task_id text, p_session_id text)
returns planledger.session
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform lock_take('session', p_operation, p_task_id, p_session_id => p_session_id);
  perform from task_sessions s where s.task_id = p_task_id and s.id = p_session_id for no key update;
  return session_of(p_task_id, p_session_id);
end
$$;

comment on function planledger.session_hold(text, text, text) is
  'Takes the session lock and row of p_session_id and answers the session; all null where it is gone, which a task that was deleted meanwhile takes along. The caller holds admission_lock or, as a worker, nothing.';
