create or replace function planledger.comment_create(
  p_principal uuid,
  p_task_id text,
  p_plan_id text,
  p_comment_id uuid,
  p_body text,
  p_selected_text text,
  p_anchor_from integer,
  p_anchor_to integer
)
returns planledger.comment_snapshot
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'create_comment';
  v_plan_id uuid;
  v_now timestamptz;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  if p_comment_id is null then
    perform refuse_argument('id', 'id is required: a UUID of yours.', c_operation, p_task_id, false);
  elsif p_anchor_from is null or p_anchor_to is null or p_anchor_from < 0 or p_anchor_to < p_anchor_from then
    perform refuse_argument('anchor_to', 'The anchors must be numbers with 0 <= anchor_from <= anchor_to.',
      c_operation, p_task_id, false);
  end if;
  perform reach(c_operation, p_principal, p_task_id, 'plan:write');
  perform comment_body_check(c_operation, p_task_id, p_body);
  perform comment_selection_check(c_operation, p_task_id, p_selected_text);

  perform admission_lock(c_operation, p_principal, p_task_id, 'plan:write', p_plan => false);
  if exists (select from plan_comment_ids i where i.task_id = p_task_id and i.id = p_comment_id) then
    if exists (
      select from plan_comments c
      where c.task_id = p_task_id and c.id = p_comment_id
        and (c.plan_id::text, c.body, c.selected_text, c.anchor_from, c.anchor_to)
          is distinct from (lower(p_plan_id), p_body, p_selected_text, p_anchor_from, p_anchor_to)
    ) then
      perform refuse('comment_id_conflict', c_operation, p_task_id, jsonb_build_object('id', p_comment_id));
    end if;
    return comment_snapshot_of(p_task_id);
  end if;
  v_plan_id := comment_plan(c_operation, p_task_id, p_plan_id);

  v_now := clock_timestamp();
  insert into plan_comment_ids (task_id, id) values (p_task_id, p_comment_id);
  insert into plan_comments (task_id, id, plan_id, body, selected_text, anchor_from, anchor_to, created_at, updated_at)
  values (p_task_id, p_comment_id, v_plan_id, p_body, p_selected_text, p_anchor_from, p_anchor_to, v_now, v_now);
  perform comment_limit_check(c_operation, p_task_id);
  perform comments_changed(p_task_id, v_plan_id);
  return comment_snapshot_of(p_task_id);
end
$$;

comment on function planledger.comment_create(uuid, text, text, uuid, text, text, integer, integer) is
  'Adds a comment to the plan p_plan_id, which must be the task''s current one. p_comment_id: the caller''s UUID, which makes a repeat harmless; p_body: 1 to 65,536 bytes and not only white space; p_selected_text: 1 to 262,144 bytes; 0 <= p_anchor_from <= p_anchor_to. A plan has at most 100 pending comments with 1,048,576 bytes in all. An id that was used before changes nothing: with the same data, or once its comment was deleted or delivered, the call succeeds. Takes the lease (shared) and admission locks, then the task row. Answers the snapshot. Raises validation_error, task_unreachable, comment_body_too_large, comment_selection_too_large, plan_busy, task_not_found, comment_id_conflict, plan_comments_changed, comment_limit_exceeded, isolation_not_supported.';
