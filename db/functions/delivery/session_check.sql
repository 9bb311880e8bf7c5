create or replace function planledger.session_check(
  p_operation text,
  p_task_id text,
  p_session planledger.session,
  p_action text,
  p_require_primary boolean
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_facts jsonb := jsonb_build_object('session_id', (p_session).id);
begin
  if p_require_primary and not (p_session).is_primary then
    perform refuse('primary_session_changed', p_operation, p_task_id, v_facts || coalesce(
      (select jsonb_build_object('primary_session_id', s.id, 'primary_session_state', s.state)
       from task_sessions s where s.task_id = p_task_id and s.is_primary),
      '{"primary_session_id": null, "primary_session_state": null}'));
  elsif (p_session).accepts = 'nothing' then
    perform refuse('session_terminal', p_operation, p_task_id, v_facts);
  elsif p_action = 'message' and (p_session).accepts <> 'direct' then
    perform refuse('session_not_promptable', p_operation, p_task_id, v_facts || jsonb_build_object('state', (p_session).state));
  elsif p_action = 'queue' and queue_length(p_task_id, (p_session).id) >= (p_session).queue_max then
    perform refuse('queue_full', p_operation, p_task_id, v_facts || jsonb_build_object('max', (p_session).queue_max));
  end if;
end
$$;

comment on function planledger.session_check(text, text, planledger.session, text, boolean) is
  'Whether p_session takes a prompt now (p_action message) or into its queue (queue). Raises primary_session_changed, session_terminal, session_not_promptable, queue_full. The caller holds its lock.';
