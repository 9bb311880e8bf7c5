create or replace function planledger.comments_changed(p_task_id text, p_plan_id uuid)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  insert into plan_comment_heads as h (task_id, plan_id, revision) values (p_task_id, p_plan_id, 1)
  on conflict (task_id) do update set revision = h.revision + 1;
  insert into events (task_id, kind, plan_id) values (p_task_id, 'plan.comments_changed', p_plan_id);
end
$$;

comment on function planledger.comments_changed(text, uuid) is
  'Ends every change of a plan''s comments: raises their revision by one and records one event.';
