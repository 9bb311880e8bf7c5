create or replace function planledger.comment_update(
  p_principal uuid,
  p_task_id text,
  p_plan_id text,
  p_comment_id uuid,
  p_body text,
  p_expected_version integer
)
returns planledger.comment_snapshot
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'update_comment';
  v_plan_id uuid;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'plan:write');
  perform comment_body_check(c_operation, p_task_id, p_body);

  perform admission_lock(c_operation, p_principal, p_task_id, 'plan:write', p_plan => false);
  v_plan_id := comment_plan(c_operation, p_task_id, p_plan_id);
  update plan_comments c
  set body = p_body, version = c.version + 1, updated_at = greatest(clock_timestamp(), c.updated_at)
  where c.task_id = p_task_id and c.id = p_comment_id and c.version = p_expected_version;
  if not found then
    perform refuse('plan_comments_changed', c_operation, p_task_id);
  end if;
  perform comment_limit_check(c_operation, p_task_id);
  perform comments_changed(p_task_id, v_plan_id);
  return comment_snapshot_of(p_task_id);
end
$$;

comment on function planledger.comment_update(uuid, text, text, uuid, text, integer) is
  'Replaces the body (1 to 65,536 bytes, not only white space) of a pending comment of the current plan p_plan_id that is at p_expected_version; its version rises by one. Takes the lease (shared) and admission locks, then the task row. Answers the snapshot. Raises validation_error, task_unreachable, comment_body_too_large, plan_busy, task_not_found, plan_comments_changed, comment_limit_exceeded, isolation_not_supported.';
