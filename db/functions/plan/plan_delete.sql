create or replace function planledger.plan_delete(
  p_principal uuid,
  p_task_id text,
  p_request_id text default null
)
returns table (task_id text, plan_id uuid, replayed boolean)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'delete';
  v_caller caller;
  v_head plan_head;
  v_ack plan_write_ack;
  v_arguments jsonb := jsonb_build_array();
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id, p_request_id => p_request_id);
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:write');

  perform admission_lock(c_operation, p_principal, p_task_id, 'plan:write');
  if p_request_id is not null then
    v_ack := request_replay(c_operation, p_task_id, v_caller, p_request_id, v_arguments);
    if v_ack.replayed then
      return query select v_ack.task_id, v_ack.plan_id, true;
      return;
    end if;
  end if;
  v_head := head_read(c_operation, p_task_id);

  delete from plans p where p.task_id = p_task_id;
  insert into events (task_id, kind, plan_id) values (p_task_id, 'plan.deleted', v_head.plan_id);

  v_ack.task_id := p_task_id;
  v_ack.plan_id := v_head.plan_id;
  v_ack.outcome := 'deleted';
  v_ack.replayed := false;
  if p_request_id is not null then
    perform request_remember(c_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return query select v_ack.task_id, v_ack.plan_id, false;
end
$$;

comment on function planledger.plan_delete(uuid, text, text) is
  'Removes the plan of p_task_id with its pending comments; the revisions stay and can be reverted to. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the lease (shared), admission and plan locks, then the task row. Raises validation_error, task_unreachable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, isolation_not_supported.';
