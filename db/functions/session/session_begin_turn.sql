create or replace function planledger.session_begin_turn(p_task_id text, p_session_id text, p_dispatch_id uuid)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  update task_sessions s
  set state = 'RUNNING', failure = null, turn_id = p_dispatch_id, cancel_turn_id = null,
    updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.id = p_session_id;
  perform session_changed(p_task_id, p_session_id);
end
$$;

comment on function planledger.session_begin_turn(text, text, uuid) is
  'Makes a session busy with the prompt p_dispatch_id, so that no other prompt finds it free. The caller holds its lock.';
