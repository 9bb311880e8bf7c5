create or replace function planledger.session_of(p_task_id text, p_session_id text)
returns planledger.session
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_session session;
begin
  select s.id, s.task_id, s.name, s.agent_name, s.state, session_accepts(s.state), s.is_primary, s.transport, s.failure,
    s.turn_id, s.auto_run, s.queue_max, s.queue_incarnation, s.created_at, s.updated_at
  into v_session
  from task_sessions s where s.task_id = p_task_id and s.id = p_session_id;
  return v_session;
end
$$;

comment on function planledger.session_of(text, text) is
  'The session p_session_id of p_task_id as callers see it; all null where the task has no such session.';
