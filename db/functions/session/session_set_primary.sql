create or replace function planledger.session_set_primary(p_principal uuid, p_task_id text, p_session_id text)
returns planledger.session
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'set_primary_session';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
begin
  if v_session.accepts = 'nothing' then
    perform refuse('session_terminal', c_operation, p_task_id, jsonb_build_object('session_id', p_session_id));
  elsif v_session.is_primary then
    return v_session;
  end if;
  perform session_demote(p_task_id);
  update task_sessions s set is_primary = true, updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.id = p_session_id;
  perform session_changed(p_task_id, p_session_id);
  return session_of(p_task_id, p_session_id);
end
$$;

comment on function planledger.session_set_primary(uuid, text, text) is
  'Makes p_session_id the primary session of its task, in place of the one that was. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, plan_busy, isolation_not_supported.';
