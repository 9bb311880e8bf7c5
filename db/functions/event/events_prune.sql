create or replace function planledger.events_prune(p_keep interval default interval '10 minutes')
returns bigint
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'prune_events';
  v_taken_at timestamptz;
  v_snapshot pg_snapshot;
  v_count bigint := 0;
begin
  if p_keep is null or p_keep < interval '0' then
    perform refuse_argument('keep', 'keep must be zero or more.', c_operation, null, false);
  end if;
  perform require_read_committed(c_operation, null);
  if not pg_try_advisory_xact_lock(lock_key('prune', 'events')) then
    return 0;  -- another call is at it
  end if;

  -- By what they saw and not by their times: a clock may go back.
  select s.taken_at, s.snapshot into v_taken_at, v_snapshot
  from event_snapshots s
  where s.taken_at <= clock_timestamp() - p_keep
  order by pg_snapshot_xmax(s.snapshot) desc
  limit 1;
  if found then
    delete from events e where e.xid < pg_snapshot_xmax(v_snapshot) and pg_visible_in_snapshot(e.xid, v_snapshot);
    get diagnostics v_count = row_count;
    update event_snapshots s set pruned_at = clock_timestamp() where s.taken_at = v_taken_at;
    delete from event_snapshots s where pg_snapshot_xmax(s.snapshot) < pg_snapshot_xmax(v_snapshot);
  end if;
  insert into event_snapshots (snapshot) values (pg_current_snapshot()) on conflict do nothing;
  return v_count;
end
$$;

comment on function planledger.events_prune(interval) is
  'Deletes the events that a snapshot stored at least p_keep ago saw, stores a new snapshot for later calls, and answers how many events it deleted. A reader that is further behind begins anew. For administrators and the program''s cron; safe at any time; where another call is at it, it does nothing. Raises validation_error, isolation_not_supported.';
