create or replace function planledger.receipts_put_back(p_receipt planledger.receipts, p_failure text)
returns text
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  c_attempts constant integer := 5;
  v_task_id text := (p_receipt).task_id;
  v_spent boolean := (p_receipt).attempts >= c_attempts;
begin
  if v_spent then
    perform receipts_end(p_receipt, 'failed', p_failure);
  else
    update receipts r
    set state = 'pending', lease_token = null, lease_expires_at = null,
      failure = coalesce(left(nullif(p_failure, ''), 1000), r.failure),
      not_before = clock_timestamp() + interval '1 second' * power(4, r.attempts - 1),
      -- An entry of the queue goes back to its place, where it may be edited and moved.
      dispatch_id = case when r.dispatch_id = r.id
        and exists (select from queue_entries q where q.task_id = r.task_id and q.id = r.id) then null else r.dispatch_id end
    where r.task_id = v_task_id and r.dispatch_id = (p_receipt).dispatch_id and r.state = 'reserved';
    perform receipt_job(v_task_id, (p_receipt).id);
  end if;
  perform queue_changed(v_task_id, (p_receipt).session_id);
  if v_spent or (select r.dispatch_id is null from receipts r where r.task_id = v_task_id and r.id = (p_receipt).id) then
    perform session_free(v_task_id, (p_receipt).session_id, (p_receipt).dispatch_id, p_failure);
  end if;
  return case when v_spent then 'failed' else 'pending' end;
end
$$;

comment on function planledger.receipts_put_back(planledger.receipts, text) is
  'Makes the reserved receipts of one prompt pending again, to be tried after 1, 4, 16 and 64 seconds, or failed after five attempts. The caller holds the session''s lock.';
