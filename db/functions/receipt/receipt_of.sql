create or replace function planledger.receipt_of(p_task_id text, p_receipt_id uuid)
returns planledger.receipt
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_receipt receipt;
begin
  select r.id, r.task_id, r.session_id, d.client_id, d.action, r.state, r.attempts,
    r.state = 'failed' and r.attempted_at is null and r.dismissed_at is null
      and session_accepts(s.state) <> 'nothing', r.failure,
    case when r.lease_token is not null then r.lease_holder end, r.lease_expires_at, nullif(r.not_before, '-infinity'),
    r.created_at, r.attempted_at, r.ended_at, r.dismissed_at
  into v_receipt
  from receipts r
    join deliveries d on d.task_id = r.task_id and d.id = r.id
    join task_sessions s on s.task_id = r.task_id and s.id = r.session_id
  where r.task_id = p_task_id and r.id = p_receipt_id;
  return v_receipt;
end
$$;

comment on function planledger.receipt_of(text, uuid) is 'A receipt as callers see it; all null where there is none.';
