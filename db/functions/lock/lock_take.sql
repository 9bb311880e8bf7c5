-- Most locks are free, and taking a free one needs no time limit. A lock that others
-- wait for is not free: trying respects the queue.
create or replace function planledger.lock_take(
  p_kind text,
  p_operation text,
  p_task_id text,
  p_shared boolean default false
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_taken boolean;
begin
  if p_shared then
    v_taken := pg_try_advisory_xact_lock_shared(lock_key(p_kind, p_task_id));
  else
    v_taken := pg_try_advisory_xact_lock(lock_key(p_kind, p_task_id));
  end if;
  if not v_taken then
    perform lock_wait(p_kind, p_operation, p_task_id, p_shared);
  end if;
end
$$;

comment on function planledger.lock_take(text, text, text, boolean) is
  'Takes the advisory lock p_kind of p_task_id until the transaction ends. Order, always: lease, admission, session, plan. Waits at most settings.lock_wait, then plan_busy.';
