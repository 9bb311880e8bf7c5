create or replace function planledger.admission_lease(p_principal uuid, p_task_id text)
returns xid8
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'lease_admission';
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:write');
  perform lock_take('lease', c_operation, p_task_id);
  perform reach_again(c_operation, p_principal, p_task_id, 'task:write', p_hold => false);
  return pg_current_xact_id();
end
$$;

comment on function planledger.admission_lease(uuid, text) is
  'Keeps every other admission, change of comments and plan deletion away from a task while turn-start hooks run, until the calling transaction ends; plan writes go on. Answers what message_add and queue_add take as p_lease, on another connection. Takes the lease lock. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
