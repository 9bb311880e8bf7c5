-- An advisory lock shows only its 64-bit key, in two halves; the key of every task
-- and session is computed to find whose it is.
create or replace view planledger.locks as
select
  k.kind,
  k.task_id,
  k.session_id,
  case when l.granted then 'holds' else 'waits' end as state,
  l.mode = 'ShareLock' as shared,
  l.pid,
  a.usename::text as login,
  a.application_name,
  clock_timestamp() - coalesce(l.waitstart, a.xact_start) as since,
  pg_blocking_pids(l.pid) as blocked_by,
  a.state as backend_state,
  a.query
from pg_locks l
  join (
    select n.kind, t.id::text as task_id, null::text as session_id, planledger.lock_key(n.kind, t.id::text) as key
    from planledger.tasks t
      cross join (values ('lease'), ('admission'), ('plan')) n (kind)
    union all
    select 'session', s.task_id, s.id, planledger.lock_key('session', concat_ws('/', s.task_id, s.id))
    from planledger.task_sessions s
  ) k on (l.classid::bigint << 32 | l.objid::bigint) = k.key
  left join pg_stat_activity a on a.pid = l.pid
where l.locktype = 'advisory'
  and l.objsubid = 1
  and l.database = (select d.oid from pg_database d where d.datname = current_database());

comment on view planledger.locks is
  'Which task''s lock each session holds or waits for, how long, and what it runs. login, query and state of others show to members of pg_read_all_stats only.';
comment on column planledger.locks.kind is 'lease, admission, session or plan.';
comment on column planledger.locks.task_id is 'The task the lock belongs to.';
comment on column planledger.locks.session_id is 'The session it belongs to; null for a lock of the task.';
comment on column planledger.locks.state is 'holds or waits.';
comment on column planledger.locks.shared is 'Whether the lock is shared.';
comment on column planledger.locks.pid is 'The backend; pg_terminate_backend(pid) ends it and frees the lock.';
comment on column planledger.locks.login is 'The role it logged in as.';
comment on column planledger.locks.application_name is 'What the client calls itself.';
comment on column planledger.locks.since is 'How long it waits, or how long its transaction has run.';
comment on column planledger.locks.blocked_by is 'The backends a waiting one waits for.';
comment on column planledger.locks.backend_state is 'active, idle in transaction, …';
comment on column planledger.locks.query is 'Its present or last statement.';
