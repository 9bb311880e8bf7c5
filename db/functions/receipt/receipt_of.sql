create or replace function planledger.receipt_of(p_task_id text, p_receipt_id uuid)
returns planledger.receipt
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_receipt receipt;
begin
  select r.id, r.task_id, r.session_id, d.client_id, d.action, r.state, r.attempts, r.retryable, r.failure,
    r.lease_holder, r.lease_expires_at, r.not_before, r.created_at, r.attempted_at, r.ended_at, r.dismissed_at
  into v_receipt
  from receipt_status r join deliveries d on d.task_id = r.task_id and d.id = r.id
  where r.task_id = p_task_id and r.id = p_receipt_id;
  return v_receipt;
end
$$;

comment on function planledger.receipt_of(text, uuid) is 'A receipt as callers see it; all null where there is none.';
