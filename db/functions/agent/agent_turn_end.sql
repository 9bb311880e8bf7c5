create or replace function planledger.agent_turn_end(p_task_id text, p_token uuid, p_turn_id uuid, p_failure text default null)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'end_turn';
  v_session session := agent_of_lease(c_operation, p_task_id, p_token);
begin
  if v_session.turn_id = p_turn_id and v_session.state = 'RUNNING' and p_failure <> '' then
    perform transcript_add(p_task_id, v_session.id, 'system', 'notice', left(p_failure, 1000));
  end if;
  perform session_free(p_task_id, v_session.id, p_turn_id, p_failure);
end
$$;

comment on function planledger.agent_turn_end(text, uuid, uuid, text) is
  'Says that an agent is done with the prompt p_turn_id, with p_failure, for people, where it came to nothing; the session waits for the next, and what is next in its queue goes out. A turn that is over already is left alone. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported.';
