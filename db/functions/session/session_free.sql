create or replace function planledger.session_free(p_task_id text, p_session_id text, p_failure text default null)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  update task_sessions s
  set state = 'WAITING_FOR_INPUT', failure = left(nullif(p_failure, ''), 1000), cancel_turn_id = null,
    updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.id = p_session_id and s.state = 'RUNNING';
  if found then
    perform session_changed(p_task_id, p_session_id);
    perform queue_wake(p_task_id, p_session_id);
  end if;
end
$$;

comment on function planledger.session_free(text, text, text) is
  'Has a busy session wait for a prompt again, with p_failure where its turn came to nothing, and what is next go out. The caller holds the session''s lock.';
