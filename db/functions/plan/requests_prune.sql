create or replace function planledger.requests_prune(p_keep interval default interval '7 days')
returns bigint
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'prune_requests';
  v_count bigint;
begin
  if p_keep is null or p_keep < interval '24 hours' then
    perform refuse_argument('keep', 'keep must be 24 hours or more.', c_operation, null, false);
  end if;
  delete from plan_requests r where r.created_at < clock_timestamp() - p_keep;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

comment on function planledger.requests_prune(interval) is
  'Forgets remembered request ids older than p_keep (24 hours or more) and answers how many. For administrators; safe at any time. Raises validation_error.';
