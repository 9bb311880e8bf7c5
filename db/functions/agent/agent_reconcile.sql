create or replace function planledger.agent_reconcile(p_task_id text, p_session_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_session session := session_of(p_task_id, p_session_id);
begin
  delete from session_agents a
  where a.task_id = p_task_id and a.session_id = p_session_id and a.lease_expires_at <= clock_timestamp();
  if found then
    perform agent_gone(p_task_id, v_session, 'The worker that ran the agent did not come back.');
  elsif v_session.transport in ('acp', 'passthrough') and v_session.state <> 'WAITING_FOR_INPUT'
    and not exists (select from session_agents a where a.task_id = p_task_id and a.session_id = p_session_id) then
    perform agent_gone(p_task_id, v_session, case v_session.state when 'RUNNING' then 'The worker that ran the agent did not come back.' end);
  end if;
end
$$;

comment on function planledger.agent_reconcile(text, text) is
  'Puts right what a worker that died has left of a session''s agent. The caller holds the session''s lock.';
