create or replace function planledger.task_delete(p_principal uuid, p_task_id text)
returns table (id text)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'delete_task';
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:write');
  perform admission_lock(c_operation, p_principal, p_task_id, 'task:write');
  if exists (select from tasks t where t.parent_task_id = p_task_id) then
    perform refuse_argument('task_id', 'The task has tasks below it; delete those first.', c_operation, p_task_id, true);
  end if;

  begin
    delete from tasks t where t.id = p_task_id;
  exception
    when foreign_key_violation then  -- a task was put below it at this moment
      perform refuse_argument('task_id', 'The task has tasks below it; delete those first.', c_operation, p_task_id, true);
  end;
  insert into events (task_id, kind) values (p_task_id, 'task.deleted');
  return query select p_task_id;
end
$$;

comment on function planledger.task_delete(uuid, text) is
  'Deletes a task with its plan, history and sessions, for good; refused while tasks are below it. Takes the lease (shared), admission and plan locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
