create or replace function planledger.receipts_prune(p_keep interval default interval '30 days')
returns bigint
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'prune_receipts';
  v_count bigint;
begin
  if p_keep is null or p_keep < interval '24 hours' then
    perform refuse_argument('keep', 'keep must be 24 hours or more.', c_operation, null, false);
  end if;
  delete from receipts r where r.state = 'acknowledged' and r.ended_at < clock_timestamp() - p_keep;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

comment on function planledger.receipts_prune(interval) is
  'Forgets receipts acknowledged longer ago than p_keep (24 hours or more) and answers how many; the transcript stays, and a repeated request is still answered. Failed and cleared ones stay, for people. For administrators and the program''s cron; safe at any time. Raises validation_error.';
