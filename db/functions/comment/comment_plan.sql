create or replace function planledger.comment_plan(p_operation text, p_task_id text, p_plan_id text)
returns uuid
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_plan_id uuid;
begin
  select p.id into v_plan_id from plans p where p.task_id = p_task_id and p.id::text = lower(p_plan_id);
  if not found then
    perform refuse('plan_comments_changed', p_operation, p_task_id);
  end if;
  return v_plan_id;
end
$$;

comment on function planledger.comment_plan(text, text, text) is
  'The id of the task''s plan, which must be p_plan_id (plan_comments_changed). The caller holds admission_lock, under which no plan is deleted.';
