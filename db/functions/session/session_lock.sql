create or replace function planledger.session_lock(p_operation text, p_task_id text, p_session_id text)
returns planledger.session
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform session_hold(p_operation, p_task_id, p_session_id);
  return session_find(p_operation, p_task_id, p_session_id);
end
$$;

comment on function planledger.session_lock(text, text, text) is
  'Takes the session lock and row of p_session_id and answers the session; session_not_found where the task has none of that id. The caller holds admission_lock.';
