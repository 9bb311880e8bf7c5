create or replace function planledger.comment_delete(
  p_principal uuid,
  p_task_id text,
  p_plan_id text,
  p_comment_id uuid,
  p_expected_version integer
)
returns planledger.comment_snapshot
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'delete_comment';
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'plan:write');

  perform admission_lock(c_operation, p_principal, p_task_id, 'plan:write', p_plan => false);
  perform comments_consume(c_operation, p_task_id, p_plan_id, array[p_comment_id], array[p_expected_version]);
  return comment_snapshot_of(p_task_id);
end
$$;

comment on function planledger.comment_delete(uuid, text, text, uuid, integer) is
  'Deletes a pending comment of the current plan p_plan_id that is at p_expected_version; its id stays used. Takes the lease (shared) and admission locks, then the task row. Answers the snapshot. Raises validation_error, task_unreachable, plan_busy, task_not_found, plan_comments_changed, isolation_not_supported.';
