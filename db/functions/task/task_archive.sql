create or replace function planledger.task_archive(p_principal uuid, p_task_id text)
returns table (id text, archived_at timestamptz)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'archive_task';
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:write');
  perform admission_lock(c_operation, p_principal, p_task_id, 'task:write');

  update tasks t set archived_at = clock_timestamp() where t.id = p_task_id and t.archived_at is null;
  if found then
    insert into events (task_id, kind) values (p_task_id, 'task.archived');
  end if;
  return query select t.id::text, t.archived_at from tasks t where t.id = p_task_id;
end
$$;

comment on function planledger.task_archive(uuid, text) is
  'Archives a task; repeating it changes nothing. Its plan stays readable and writable. Takes the lease (shared), admission and plan locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
