create or replace function planledger.session_free(
  p_task_id text,
  p_session_id text,
  p_turn_id uuid,
  p_failure text default null
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  update task_sessions s
  set state = 'WAITING_FOR_INPUT', failure = left(nullif(p_failure, ''), 1000), cancel_turn_id = null,
    updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.id = p_session_id and s.state = 'RUNNING' and s.turn_id = p_turn_id;
  if found then
    perform session_changed(p_task_id, p_session_id);
    perform queue_wake(p_task_id, p_session_id);
  end if;
end
$$;

comment on function planledger.session_free(text, text, uuid, text) is
  'Has a session that is in the turn p_turn_id wait for a prompt again, with p_failure where the turn came to nothing, and what is next go out; the end of an earlier turn changes nothing. The caller holds the session''s lock.';
