create or replace function planledger.session_move(
  p_operation text,
  p_task_id text,
  p_session planledger.session,
  p_state text,
  p_failure text default null
)
returns planledger.session
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_accepts text := session_accepts(p_state);
begin
  if (p_session).state = p_state and (p_session).failure is not distinct from p_failure then
    return p_session;
  elsif (p_session).accepts = 'nothing' then
    perform refuse('session_terminal', p_operation, p_task_id, jsonb_build_object('session_id', (p_session).id));
  end if;
  update task_sessions s
  set state = p_state, failure = p_failure, is_primary = s.is_primary and v_accepts <> 'nothing',
    updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.id = (p_session).id;
  perform session_changed(p_task_id, (p_session).id);
  if v_accepts = 'nothing' then
    perform receipts_fail(p_task_id, (p_session).id, 'The session had ended.');
  else
    perform queue_wake(p_task_id, (p_session).id);
  end if;
  return session_of(p_task_id, (p_session).id);
end
$$;

comment on function planledger.session_move(text, text, planledger.session, text, text) is
  'Moves p_session, whose lock the caller holds, to p_state. One that has ended stays so (session_terminal); one that ends is no longer primary, and what it has not been sent yet fails.';
