create or replace function planledger.task_lock(p_operation text, p_principal uuid, p_task_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform lock_take('lease', p_operation, p_task_id, p_shared => true);
  perform lock_take('admission', p_operation, p_task_id);
  perform lock_take('plan', p_operation, p_task_id);
  perform from tasks t where t.id = p_task_id for no key update;
  perform reach_again(p_operation, p_principal, p_task_id, 'task:write');
end
$$;

comment on function planledger.task_lock(text, uuid, text) is
  'Takes what archiving and deleting a task need: its lease (shared), admission and plan locks, then its row. Refuses, as reach_again does, where the task went meanwhile.';
