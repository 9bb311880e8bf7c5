create or replace function planledger.admission_lease(p_principal uuid, p_task_id text)
returns table (lease xid8, hooks_max_ms integer)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'lease_admission';
  v_lock_wait_ms integer := (select extract(epoch from s.lock_wait) * 1000 from settings s);
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:write');
  perform lock_take('lease', c_operation, p_task_id);
  perform reach_again(c_operation, p_principal, p_task_id, 'task:write', p_hold => false);
  -- Idle while the hooks run and then the acceptance, which may wait for locks of its own.
  perform set_config('idle_in_transaction_session_timeout', (v_lock_wait_ms * 3)::text, true);
  return query select pg_current_xact_id(), greatest(v_lock_wait_ms * 2 / 3, 1);
end
$$;

comment on function planledger.admission_lease(uuid, text) is
  'Keeps every other admission, change of comments and plan deletion away from a task while turn-start hooks run, until the calling transaction ends; plan writes go on. Answers lease, which message_add, queue_add and queue_append take as p_lease on another connection, and hooks_max_ms, how long the hooks may take: less than those others wait. A transaction that stays idle for three times settings.lock_wait is ended. Takes the lease lock. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
