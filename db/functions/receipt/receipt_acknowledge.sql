create or replace function planledger.receipt_acknowledge(p_task_id text, p_token uuid)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'acknowledge_receipt';
  v_receipt receipts;
begin
  perform require_read_committed(c_operation, p_task_id);
  v_receipt := receipts_of_lease(c_operation, p_task_id, p_token, 'attempted');
  perform receipts_end(v_receipt, 'acknowledged');
  -- Of what it does with a prompt, an agent that is called over HTTP says nothing here.
  if (session_of(p_task_id, v_receipt.session_id)).transport = 'webhook' then
    perform session_free(p_task_id, v_receipt.session_id);
  end if;
end
$$;

comment on function planledger.receipt_acknowledge(text, uuid) is
  'Says that the agent has the prompt of an attempted receipt. Takes the task row and the session lock. Raises lease_lost, plan_busy, isolation_not_supported.';
