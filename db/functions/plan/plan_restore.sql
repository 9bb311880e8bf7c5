create or replace function planledger.plan_restore(
  p_principal uuid,
  p_task_id text,
  p_revision_id text,
  p_expected_version text default null,
  p_expected_revision_version text default null,
  p_request_id text default null
)
returns planledger.plan_write_ack
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'restore';
  v_caller caller;
  v_head plan_head;
  v_source plan_revisions;
  v_content text;
  v_current text;
  v_ack plan_write_ack;
  v_arguments jsonb;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id, p_request_id => p_request_id);
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:write');

  perform lock_take('plan', c_operation, p_task_id);
  perform reach_again(c_operation, p_principal, p_task_id, 'plan:write');
  if p_request_id is not null then
    v_arguments := jsonb_build_array(p_revision_id, p_expected_version, p_expected_revision_version);
    v_ack := request_replay(c_operation, p_task_id, v_caller, p_request_id, v_arguments);
    if v_ack.replayed then
      return v_ack;
    end if;
  end if;
  v_head := head_read(c_operation, p_task_id);
  v_source := revision_find(c_operation, p_task_id, p_revision_id);
  perform version_check(c_operation, p_task_id, v_head, p_expected_version, true);

  if coalesce(p_expected_revision_version, '') = '' then
    perform refuse('plan_revision_version_required', c_operation, p_task_id);
  end if;
  v_content := revision_text('plan_history_unavailable', c_operation, p_task_id,
    v_source.first_segment, v_source.last_segment, v_source.tail, v_source.content_bytes);
  if p_expected_revision_version <>
     revision_version(p_task_id, v_source.id, v_source.title, v_content, v_source.updated_at) then
    perform refuse('plan_revision_changed', c_operation, p_task_id);
  end if;
  v_current := history_check(c_operation, p_task_id, v_head);

  if v_head.title = v_source.title and v_current = v_content then
    v_ack := (p_task_id, v_head.plan_id, 'already_current', v_head.title, v_head.content_bytes, v_head.content_chars,
      v_head.revision_number, v_head.revision_id, v_head.version, false, false)::plan_write_ack;
  else
    v_ack := document_write('restored', c_operation, p_task_id, v_caller, v_head, v_source.title, v_content,
      p_mergeable => false, p_own_revision => true, p_restored_from => v_source.id);
  end if;
  if p_request_id is not null then
    perform request_remember(c_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return v_ack;
end
$$;

comment on function planledger.plan_restore(uuid, text, text, text, text, text) is
  'Copies title and text of revision p_revision_id into a new revision that names its source; nothing else changes, and no size or truncation question arises. Needs the current p_expected_version of the plan and p_expected_revision_version of the revision. Where the plan already equals the revision, answers already_current and writes nothing. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, revision_not_found, plan_version_required, plan_version_conflict, plan_revision_version_required, plan_revision_changed, plan_history_unavailable, isolation_not_supported.';
