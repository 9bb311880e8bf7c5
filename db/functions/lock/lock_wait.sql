-- The lock_timeout attribute makes PostgreSQL put the caller's own value back on return;
-- set_config alone would leak ours into the rest of the caller's transaction.
create or replace function planledger.lock_wait(
  p_key bigint,
  p_operation text,
  p_task_id text,
  p_shared boolean
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
set lock_timeout = '15s'
as $$
begin
  perform set_config('lock_timeout', (extract(epoch from s.lock_wait) * 1000)::integer::text, true)
  from settings s;
  begin
    if p_shared then
      perform pg_advisory_xact_lock_shared(p_key);
    else
      perform pg_advisory_xact_lock(p_key);
    end if;
  exception
    when lock_not_available then
      -- Whether the caller still reaches the task is not known, and so nothing is said of it.
      perform refuse('plan_busy', p_operation, p_task_id, p_reached => false);
  end;
end
$$;

comment on function planledger.lock_wait(bigint, text, text, boolean) is
  'Waits for an advisory lock at most settings.lock_wait, then refuses (plan_busy).';
