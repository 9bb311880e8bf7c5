create or replace function planledger.segments_go_with_task()
returns trigger
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  delete from plan_segments g where g.task_id = old.id;
  return null;
end
$$;

comment on function planledger.segments_go_with_task() is
  'Trigger: deletes the plan text of a deleted task, in place of a foreign key that every append would pay for.';
