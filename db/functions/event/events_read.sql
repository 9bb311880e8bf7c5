-- A cursor is a snapshot, not a number: what it could not see yet is what its reader has
-- not seen yet. So a late commit is not skipped, and an old transaction holds nothing up.
create or replace function planledger.events_read(p_cursor text default null)
returns table (
  cursor text,
  server_started_at timestamptz,
  reset boolean,
  id bigint,
  task_id text,
  kind text,
  plan_id uuid,
  revision_id uuid,
  revision_number integer,
  coalesced boolean,
  restored_from uuid,
  session_id text,
  message_id uuid
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
set enable_seqscan = off  -- rows are looked up by key; a plan made while tables were small must not stay
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_seen pg_snapshot;
  v_now pg_snapshot;
  v_reset boolean;
begin
  if pg_is_in_recovery() then
    raise exception 'a standby does not know which transactions run: events are read on the primary'
      using errcode = 'read_only_sql_transaction';
  end if;
  if pg_current_xact_id_if_assigned() is not null then
    raise exception 'a cursor taken in a transaction that writes would not see its later events'
      using errcode = 'invalid_transaction_state', hint = 'Call events_read in a transaction of its own.';
  end if;
  v_seen := nullif(p_cursor, '')::pg_snapshot;
  v_now := pg_current_snapshot();  -- of the calling statement, and so of every one in this function
  v_reset := v_seen is null or pg_snapshot_xmax(v_seen) > pg_snapshot_xmax(v_now) or exists (
    select from event_snapshots s
    where s.pruned_at is not null
      and (pg_snapshot_xmax(v_seen) < pg_snapshot_xmax(s.snapshot) or exists (
        select from pg_snapshot_xip(v_seen) as x (xid) where pg_visible_in_snapshot(x.xid, s.snapshot)))
  );
  if v_reset then
    return query
      select v_now::text, pg_postmaster_start_time(), true, null::bigint, null, null, null::uuid, null::uuid, null::integer,
        null::boolean, null::uuid, null, null::uuid;
    return;
  end if;

  return query
    select v_now::text, pg_postmaster_start_time(), false, e.id, e.task_id, e.kind::text, e.plan_id, e.revision_id,
      e.revision_number, e.coalesced, e.restored_from, e.session_id, e.message_id
    from (select) one left join (
      -- A dump keeps the transaction ids of the server it came from, which may be of this one's future.
      select * from events n where n.xid >= pg_snapshot_xmax(v_seen) and n.xid < pg_snapshot_xmax(v_now)
      union all
      select * from events n where n.xid = any (array(select pg_snapshot_xip(v_seen)))
    ) e on true
    order by e.id;
end
$$;

comment on function planledger.events_read(text) is
  'What was committed since p_cursor, the cursor of the call before: each event once, in order within a task; one row with nulls where there is nothing. reset: the cursor is absent, of the future, or older than what was pruned, so the reader looks at every task of its interest anew. server_started_at: a reader does so too when it changes. Takes no lock. Only on the primary, and not in a transaction that writes. Raises validation_error.';
