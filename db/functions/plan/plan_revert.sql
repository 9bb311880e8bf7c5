create or replace function planledger.plan_revert(
  p_principal uuid,
  p_task_id text,
  p_revision_id text,
  p_request_id text default null
)
returns planledger.plan_write_ack
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'revert';
  v_caller caller;
  v_head plan_head;
  v_source plan_revisions;
  v_ack plan_write_ack;
  v_arguments jsonb;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id, p_request_id => p_request_id);
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:write', 'browser');

  perform lock_take('plan', c_operation, p_task_id);
  perform reach_again(c_operation, p_principal, p_task_id, 'plan:write');
  if p_request_id is not null then
    v_arguments := jsonb_build_array(p_revision_id);
    v_ack := request_replay(c_operation, p_task_id, v_caller, p_request_id, v_arguments);
    if v_ack.replayed then
      return v_ack;
    end if;
  end if;
  v_head := head_read(c_operation, p_task_id, p_required => false);
  v_source := revision_find(c_operation, p_task_id, p_revision_id);

  v_ack := document_write('reverted', c_operation, p_task_id, v_caller, v_head, v_source.title,
    revision_text('plan_history_unavailable', c_operation, p_task_id,
      v_source.first_segment, v_source.last_segment, v_source.tail, v_source.content_bytes),
    p_mergeable => false, p_own_revision => true, p_restored_from => v_source.id);
  if p_request_id is not null then
    perform request_remember(c_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return v_ack;
end
$$;

comment on function planledger.plan_revert(uuid, text, text, text) is
  'The browser''s restore, for user principals: copies title and text of revision p_revision_id into a new revision that names its source, also where the plan was deleted. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, revision_not_found, plan_history_unavailable, isolation_not_supported.';
