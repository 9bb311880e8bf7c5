create or replace function planledger.admission_lock(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_scope text,
  p_plan boolean default true,
  p_lease xid8 default null
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  if p_lease is null then
    perform lock_take('lease', p_operation, p_task_id, p_shared => true);
  end if;
  perform lock_take('admission', p_operation, p_task_id);
  if p_plan then
    perform lock_take('plan', p_operation, p_task_id);
  end if;
  perform from tasks t where t.id = p_task_id for no key update;
  if p_lease is not null and not lease_is_held(p_task_id, p_lease) then
    perform refuse('admission_lease_lost', p_operation, p_task_id);
  end if;
  perform reach_again(p_operation, p_principal, p_task_id, p_scope);
end
$$;

comment on function planledger.admission_lock(text, uuid, text, text, boolean, xid8) is
  'Takes what a change of comments, an acceptance and, with p_plan, the deletion of a plan and the archiving and deletion of a task need: the lease (shared; with p_lease it must be held by that transaction, else admission_lease_lost), admission and plan locks, then the task row; and admits the caller again, as reach_again does.';
