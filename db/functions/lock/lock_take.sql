-- Most locks are free, and taking a free one needs no time limit. A lock that others
-- wait for is not free: trying respects the queue.
create or replace function planledger.lock_take(
  p_kind text,
  p_operation text,
  p_task_id text,
  p_shared boolean default false,
  p_session_id text default null
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_key bigint := lock_key(p_kind, concat_ws('/', p_task_id, p_session_id));
  v_taken boolean;
begin
  if p_shared then
    v_taken := pg_try_advisory_xact_lock_shared(v_key);
  else
    v_taken := pg_try_advisory_xact_lock(v_key);
  end if;
  if not v_taken then
    perform lock_wait(v_key, p_operation, p_task_id, p_shared);
  end if;
end
$$;

comment on function planledger.lock_take(text, text, text, boolean, text) is
  'Takes the advisory lock p_kind of p_task_id, or of its session p_session_id, until the transaction ends. Order, always: lease, admission, session, plan. Waits at most settings.lock_wait, then plan_busy.';
