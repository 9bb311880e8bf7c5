create or replace function planledger.receipt_dismiss(p_principal uuid, p_task_id text, p_session_id text, p_receipt_id uuid)
returns planledger.receipt
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'dismiss_receipt';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
  v_receipt receipt := receipt_of(p_task_id, p_receipt_id);
begin
  if v_receipt.session_id is distinct from v_session.id then
    perform refuse_argument('receipt_id', 'The session has no such receipt.', c_operation, p_task_id, true);
  elsif v_receipt.state not in ('failed', 'cleared') then
    perform refuse_argument('receipt_id', 'Only a receipt that failed or was cleared is dismissed.',
      c_operation, p_task_id, true);
  end if;
  update receipts r set dismissed_at = coalesce(r.dismissed_at, clock_timestamp())
  where r.task_id = p_task_id and r.id = p_receipt_id;
  return receipt_of(p_task_id, p_receipt_id);
end
$$;

comment on function planledger.receipt_dismiss(uuid, text, text, uuid) is
  'Says that a person has seen that a prompt failed or was cleared and that nothing more is to be done: it leaves stuck_deliveries, and stays as it is otherwise. Once is enough; a retry takes it back. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported.';
