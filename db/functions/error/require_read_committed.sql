create or replace function planledger.require_read_committed(p_operation text, p_task_id text)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform refuse('isolation_not_supported', p_operation, p_task_id,
      jsonb_build_object('isolation', upper(current_setting('transaction_isolation'))), false);
  end if;
end
$$;

comment on function planledger.require_read_committed(text, text) is
  'Refuses (isolation_not_supported) a write under a snapshot older than the lock it is about to wait for. Nothing is read first.';
