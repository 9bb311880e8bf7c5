-- A transaction that ends, its connection lost for example, takes its lease with it. The
-- task row is locked by then, so that nobody is admitted between this look and the commit.
create or replace function planledger.lease_is_held(p_task_id text, p_lease xid8)
returns boolean
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_key bigint := lock_key('lease', p_task_id);
begin
  return exists (
    select from pg_locks x
      join pg_locks l on l.pid = x.pid and l.locktype = 'advisory' and l.objsubid = 1 and l.mode = 'ExclusiveLock' and l.granted
        and (l.classid::bigint << 32 | l.objid::bigint) = v_key
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
    where x.locktype = 'transactionid' and x.granted and x.transactionid = p_lease::xid);
end
$$;

comment on function planledger.lease_is_held(text, xid8) is
  'Whether the transaction p_lease holds the admission lease of a task at this moment.';
