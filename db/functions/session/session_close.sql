create or replace function planledger.session_close(p_principal uuid, p_task_id text, p_session_id text)
returns planledger.session
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'close_session';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
begin
  if v_session.accepts = 'nothing' then
    return v_session;
  end if;
  return session_move(c_operation, p_task_id, v_session, 'COMPLETED');
end
$$;

comment on function planledger.session_close(uuid, text, text) is
  'Ends a session, for good: state COMPLETED. Repeating it changes nothing. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported.';
