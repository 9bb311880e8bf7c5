-- Every write but an append stores its whole text as a new base. Where it joins the
-- latest revision, the segments that only that revision had make room for it.
create or replace function planledger.document_write(
  p_outcome text,
  p_operation text,
  p_task_id text,
  p_caller planledger.caller,
  p_head planledger.plan_head,
  p_title text,
  p_content text,
  p_mergeable boolean default true,
  p_own_revision boolean default false,
  p_restored_from uuid default null
)
returns planledger.plan_write_ack
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_body text := text_without_trailing_space(p_content);
  v_now timestamptz := greatest(clock_timestamp(), p_head.updated_at);
  v_merge boolean := not p_own_revision and coalesce(revision_merges(p_head.mergeable, p_head.author_id,
    p_head.created_at, p_head.updated_at, p_caller.principal_id, v_now, p_head.coalesce_window), false);
  v_removed integer := 0;
  v_number integer;
  v_segment integer;
begin
  -- Only the latest revision is joined. HEAD is that one, unless it was moved by hand.
  v_merge := v_merge and not exists (
    select from plan_revisions r where r.task_id = p_task_id and r.revision_number > p_head.revision_number
  );
  if v_merge then
    v_removed := p_head.removed_chars + text_removed_chars(
      revision_text('plan_head_unavailable', p_operation, p_task_id,
        p_head.first_segment, p_head.last_segment, p_head.tail, p_head.content_bytes),
      p_content);
    v_merge := v_removed <= 512;
  end if;

  if v_merge then
    v_number := p_head.revision_number;
    select r.last_segment + 1 into v_segment from plan_revisions r
    where r.task_id = p_task_id and r.revision_number < v_number
    order by r.revision_number desc limit 1;
    delete from plan_segments g where g.task_id = p_task_id and g.seq >= coalesce(v_segment, 1);
  else
    select r.revision_number + 1 into v_number from plan_revisions r
    where r.task_id = p_task_id
    order by r.revision_number desc limit 1;
    select g.seq + 1 into v_segment from plan_segments g
    where g.task_id = p_task_id
    order by g.seq desc limit 1;
  end if;
  v_number := coalesce(v_number, 1);
  v_segment := coalesce(v_segment, 1);
  insert into plan_segments (task_id, seq, body) values (p_task_id, v_segment, v_body);
  return revision_save(p_outcome, p_task_id, p_caller, p_head, v_merge, v_now,
    p_title => p_title,
    p_revision_number => v_number,
    p_first_segment => v_segment,
    p_last_segment => v_segment,
    p_tail => substr(p_content, char_length(v_body) + 1),
    p_content_bytes => octet_length(p_content),
    p_content_chars => char_length(p_content),
    p_removed_chars => v_removed,
    p_mergeable => p_mergeable,
    p_restored_from => p_restored_from);
exception
  when foreign_key_violation then  -- only where a task was deleted by hand, past its locks
    perform refuse('task_not_found', p_operation, p_task_id);
    return null;
end
$$;

comment on function planledger.document_write(text, text, text, planledger.caller, planledger.plan_head, text, text, boolean, boolean, uuid) is
  'Commits p_content as the whole plan. It joins the latest revision where revision_merges allows it, p_own_revision does not forbid it, and the characters all merged writes removed stay within 512; otherwise it becomes a revision of its own, which p_mergeable says may take further writes.';
