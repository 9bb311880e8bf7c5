create or replace function planledger.attachments_prune(p_keep interval default interval '1 day')
returns bigint
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'prune_attachments';
  v_count bigint;
begin
  if p_keep is null or p_keep < interval '1 hour' then
    perform refuse_argument('keep', 'keep must be 1 hour or more.', c_operation, null, false);
  end if;
  delete from attachments a where a.delivery_id is null and a.created_at < clock_timestamp() - p_keep;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

comment on function planledger.attachments_prune(interval) is
  'Deletes files that were staged longer ago than p_keep (1 hour or more) and never sent, and answers how many. For administrators and the program''s cron; safe at any time. Raises validation_error.';
