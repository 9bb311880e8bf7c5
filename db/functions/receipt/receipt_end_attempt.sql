create or replace function planledger.receipt_end_attempt(p_task_id text, p_token uuid, p_state text, p_failure text)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'end_attempt';
  v_receipt receipts;
begin
  perform require_read_committed(c_operation, p_task_id);
  if p_state is null or p_state not in ('failed', 'cleared') then
    perform refuse_argument('state', 'state must be failed or cleared.', c_operation, p_task_id, false);
  end if;
  v_receipt := receipts_of_lease(c_operation, p_task_id, p_token, 'attempted');
  perform receipts_end(v_receipt, p_state, p_failure);
  perform session_free(p_task_id, v_receipt.session_id, v_receipt.dispatch_id, p_failure);
end
$$;

comment on function planledger.receipt_end_attempt(text, uuid, text, text) is
  'Says that the agent refused the prompt of an attempted receipt (p_state failed), or that nobody knows whether it has it (cleared), with p_failure for people; it is not sent again. The session waits for a prompt again. Takes the task row and the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported.';
