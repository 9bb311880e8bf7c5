create or replace function planledger.receipt_retry(p_principal uuid, p_task_id text, p_session_id text, p_receipt_id uuid)
returns planledger.receipt
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'retry_receipt';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
  v_receipt receipt := receipt_of(p_task_id, p_receipt_id);
begin
  if v_receipt.session_id is distinct from v_session.id then
    perform refuse_argument('receipt_id', 'The session has no such receipt.', c_operation, p_task_id, true);
  elsif v_receipt.state <> 'failed' or v_receipt.attempted_at is not null then
    perform refuse_argument('receipt_id',
      'Only a receipt that failed before its prompt went out is tried again; this prompt may have arrived, or is still under way.',
      c_operation, p_task_id, true);
  elsif exists (select from tasks t where t.id = p_task_id and t.archived_at is not null) then
    perform refuse_argument('task_id', 'The task is archived and takes no prompts.', c_operation, p_task_id, true);
  end if;
  -- A direct message needs no free session: it waits, and goes out before the queue.
  perform session_check(c_operation, p_task_id, v_session, case v_receipt.action when 'queue' then 'queue' end, false);
  update receipts r
  set state = 'pending', ended_at = null, dismissed_at = null, failure = null, is_wanted = false, attempts = 0, not_before = '-infinity',
    dispatch_place = 1, dispatch_id = case v_receipt.action when 'message' then r.id end
  where r.task_id = p_task_id and r.id = p_receipt_id;
  update queue_entries q set place = queue_next_place(p_task_id, v_session.id)
  where q.task_id = p_task_id and q.id = p_receipt_id;
  perform queue_changed(p_task_id, v_session.id);
  perform queue_wake(p_task_id, v_session.id);
  return receipt_of(p_task_id, p_receipt_id);
end
$$;

comment on function planledger.receipt_retry(uuid, text, text, uuid) is
  'Has a prompt that failed before it went out be tried again: one of a queue waits at its end, a direct message goes out when its session next waits for a prompt. Takes the lease (shared), admission and session locks. Raises validation_error (also for a prompt that may have arrived), task_unreachable, task_not_found, session_not_found, session_terminal, queue_full, plan_busy, isolation_not_supported.';
