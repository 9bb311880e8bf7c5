create or replace function planledger.agent_end(p_task_id text, p_token uuid, p_failure text default null)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'end_agent';
  v_session session := agent_of_lease(c_operation, p_task_id, p_token);
begin
  delete from session_agents a where a.task_id = p_task_id and a.session_id = v_session.id;
  perform agent_gone(p_task_id, v_session, left(nullif(p_failure, ''), 1000));
end
$$;

comment on function planledger.agent_end(text, uuid, text) is
  'Gives the lease on an agent back, whose process has ended; p_failure says why, for people, where nobody asked it to. A turn that it was in is over; an agent that could not start is tried again after 1, 4, 16 and 64 seconds, and after five attempts its session fails. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported.';
