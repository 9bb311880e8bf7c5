create or replace function planledger.agent_ready(p_task_id text, p_token uuid)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'agent_ready';
  v_session session := agent_of_lease(c_operation, p_task_id, p_token);
begin
  update task_sessions s set start_attempts = 0 where s.task_id = p_task_id and s.id = v_session.id;
  if v_session.state in ('CREATED', 'STARTING') then
    perform session_move(c_operation, p_task_id, v_session, 'WAITING_FOR_INPUT');
  end if;
end
$$;

comment on function planledger.agent_ready(text, uuid) is
  'Says that the agent runs and waits for a prompt, and so does a session that was starting. p_token: of its lease. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported.';
