create or replace function planledger.receipt_acknowledge(p_task_id text, p_token uuid)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'acknowledge_receipt';
  v_receipt receipts;
  v_session session;
begin
  perform require_read_committed(c_operation, p_task_id);
  v_receipt := receipts_of_lease(c_operation, p_task_id, p_token, 'attempted');
  perform receipts_end(v_receipt, 'acknowledged');
  v_session := session_of(p_task_id, v_receipt.session_id);
  if v_session.transport = 'webhook' then
    -- Of what it does with a prompt, an agent that is called over HTTP says nothing here.
    perform session_free(p_task_id, v_session.id, v_receipt.dispatch_id);
  elsif v_session.transport is not null
    and not exists (select from session_agents a where a.task_id = p_task_id and a.session_id = v_session.id) then
    -- The agent took the prompt and has ended before this was written.
    perform session_free(p_task_id, v_session.id, v_receipt.dispatch_id,
      coalesce(v_session.failure, 'The worker stopped before the turn ended.'));
  end if;
end
$$;

comment on function planledger.receipt_acknowledge(text, uuid) is
  'Says that the agent has the prompt of an attempted receipt. Where the agent has ended meanwhile, its turn is over. Takes the task row and the session lock. Raises lease_lost, plan_busy, isolation_not_supported.';
