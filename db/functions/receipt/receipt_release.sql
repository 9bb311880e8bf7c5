create or replace function planledger.receipt_release(p_task_id text, p_token uuid, p_failure text)
returns text
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'release_receipt';
begin
  perform require_read_committed(c_operation, p_task_id);
  return receipts_put_back(receipts_of_lease(c_operation, p_task_id, p_token, 'reserved'), p_failure);
end
$$;

comment on function planledger.receipt_release(text, uuid, text) is
  'Gives a reserved receipt back, because its prompt could not be made ready to go out (p_failure, for people): it is tried again later, five times in all, and answers pending or failed. Takes the task row and the session lock. Raises lease_lost, plan_busy, isolation_not_supported.';
