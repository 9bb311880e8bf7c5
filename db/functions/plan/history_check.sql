create or replace function planledger.history_check(
  p_operation text,
  p_task_id text,
  p_head planledger.plan_head
)
returns text
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if (p_head).revision_number is distinct from
     (select max(r.revision_number) from plan_revisions r where r.task_id = p_task_id) then
    raise log 'planledger: HEAD of task % is not its latest revision', p_task_id;
    perform refuse('plan_history_unavailable', p_operation, p_task_id);
  end if;
  return revision_text('plan_history_unavailable', p_operation, p_task_id,
    (p_head).first_segment, (p_head).last_segment, (p_head).tail, (p_head).content_bytes);
end
$$;

comment on function planledger.history_check(text, text, planledger.plan_head) is
  'Verifies that the text about to be replaced is kept: HEAD''s revision is the highest-numbered one, can be read and has the recorded size. Answers that text; otherwise plan_history_unavailable.';
