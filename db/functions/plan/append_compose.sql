create or replace function planledger.append_compose(
  p_task_id text,
  p_caller planledger.caller,
  p_title text,
  p_expected_version text,
  p_fragment text,
  p_body text,
  p_segments_max integer
)
returns planledger.plan_write_ack
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'append';
  v_head plan_head := head_read(c_operation, p_task_id);
  v_kept_bytes integer;
  v_bytes integer;
  v_now timestamptz;
  v_merge boolean;
  v_removed integer;
  v_in_the_way boolean;
begin
  perform version_check(c_operation, p_task_id, v_head, p_expected_version, false);

  v_kept_bytes := v_head.content_bytes - octet_length(v_head.tail);
  v_bytes := octet_length(p_fragment) + case v_kept_bytes when 0 then 0 else v_kept_bytes + 2 end;
  perform size_check(c_operation, p_task_id, v_bytes);

  begin
    -- A segment that a revision deleted by hand left behind is in the way of the next.
    v_in_the_way := exists (
      select from plan_segments g where g.task_id = p_task_id and g.seq > v_head.last_segment
    );
  exception
    when lock_not_available or serialization_failure or deadlock_detected then
      raise;
    when others then
      raise log 'planledger: segments of task % cannot be read: % (SQLSTATE %)', p_task_id, sqlerrm, sqlstate;
      perform refuse('plan_head_unavailable', c_operation, p_task_id);
  end;
  if v_kept_bytes = 0 then
    return document_write('appended', c_operation, p_task_id, p_caller, v_head, p_title, p_fragment);
  elsif v_in_the_way or v_head.last_segment - v_head.first_segment + 1 >= p_segments_max then
    return document_write('appended', c_operation, p_task_id, p_caller, v_head, p_title,
      text_without_trailing_space(revision_text('plan_head_unavailable', c_operation, p_task_id,
        v_head.first_segment, v_head.last_segment, v_head.tail, v_head.content_bytes)) || E'\n\n' || p_fragment);
  end if;

  v_now := greatest(clock_timestamp(), v_head.updated_at);
  v_merge := coalesce(revision_merges(v_head.mergeable, v_head.author_id, v_head.created_at, v_head.updated_at,
    p_caller.principal_id, v_now, v_head.coalesce_window), false);
  v_removed := v_head.removed_chars;
  if v_merge and v_head.tail not in ('', E'\n', E'\n\n') then  -- those are kept whole by the separator
    v_removed := v_removed + text_removed_chars(v_head.tail, E'\n\n' || p_fragment);
    v_merge := v_removed <= 512;
  end if;
  insert into plan_segments (task_id, seq, body) values (p_task_id, v_head.last_segment + 1, p_body);
  return revision_save('appended', p_task_id, p_caller, v_head, v_merge, v_now,
    p_title => p_title,
    p_revision_number => v_head.revision_number + case when v_merge then 0 else 1 end,
    p_first_segment => v_head.first_segment,
    p_last_segment => v_head.last_segment + 1,
    p_tail => substr(p_fragment, char_length(p_body) + 1),
    p_content_bytes => v_bytes,
    p_content_chars => v_head.content_chars - char_length(v_head.tail) + 2 + char_length(p_fragment),
    p_removed_chars => v_removed);
end
$$;

comment on function planledger.append_compose(text, planledger.caller, text, text, text, text, integer) is
  'Appends p_fragment (p_body without the white space at its end) after reading HEAD: refuses what must be refused, starts a base where the stored text is white space, folds a run of p_segments_max segments into a new base, and otherwise adds a segment to the latest revision or to one of its own. The caller holds the plan lock.';
