create or replace function planledger.task_place()
returns trigger
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  if tg_op = 'UPDATE' then
    raise exception 'a task keeps its id, its workspace and its place in the tree'
      using errcode = 'integrity_constraint_violation';
  end if;
  new.root_task_id := new.id;
  if new.parent_task_id is not null then
    select t.root_task_id into new.root_task_id from tasks t where t.id = new.parent_task_id;
  end if;
  return new;
end
$$;

comment on function planledger.task_place() is
  'Trigger: sets root_task_id of a new task from its parent, and refuses to move a task.';
