create or replace function planledger.plan_edit(
  p_principal uuid,
  p_task_id text,
  p_expected_version text default null,
  p_old_text text default null,
  p_new_text text default null,
  p_allow_truncation boolean default false,
  p_request_id text default null
)
returns planledger.plan_write_ack
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'edit';
  c_count_max constant integer := 100;
  v_caller caller;
  v_head plan_head;
  v_ack plan_write_ack;
  v_arguments jsonb;
  v_bytes bytea;
  v_found integer[];
  v_content text;
  v_acknowledged boolean;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id, p_request_id => p_request_id);
  if p_new_text is null then
    perform refuse_argument('new_text', 'new_text is required; send an empty text to delete old_text.',
      c_operation, p_task_id, false);
  end if;
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:write');
  if coalesce(p_old_text, '') = '' then
    perform refuse('plan_edit_text_required', c_operation, p_task_id);
  end if;

  perform lock_take('plan', c_operation, p_task_id);
  perform reach_again(c_operation, p_principal, p_task_id, 'plan:write');
  if p_request_id is not null then
    v_arguments := jsonb_build_array(p_expected_version, p_old_text, p_new_text, coalesce(p_allow_truncation, false));
    v_ack := request_replay(c_operation, p_task_id, v_caller, p_request_id, v_arguments);
    if v_ack.replayed then
      return v_ack;
    end if;
  end if;
  v_head := head_read(c_operation, p_task_id);
  perform version_check(c_operation, p_task_id, v_head, p_expected_version, true);

  v_bytes := convert_to(revision_text('plan_head_unavailable', c_operation, p_task_id,
    v_head.first_segment, v_head.last_segment, v_head.tail, v_head.content_bytes), 'UTF8');
  v_found := text_occurrences(v_bytes, convert_to(p_old_text, 'UTF8'), c_count_max + 1);
  if cardinality(v_found) = 0 then
    perform refuse('plan_edit_not_found', c_operation, p_task_id);
  elsif cardinality(v_found) > 1 then
    perform refuse('plan_edit_ambiguous', c_operation, p_task_id, jsonb_build_object('occurrences',
      case when cardinality(v_found) > c_count_max then to_jsonb(format('more than %s', c_count_max))
        else to_jsonb(cardinality(v_found)) end));
  end if;

  perform size_check(c_operation, p_task_id,
    octet_length(v_bytes)::bigint - octet_length(p_old_text) + octet_length(p_new_text));
  v_content := convert_from(
    substr(v_bytes, 1, v_found[1] - 1) || convert_to(p_new_text, 'UTF8')
      || substr(v_bytes, v_found[1] + octet_length(p_old_text)), 'UTF8');
  if v_content = '' then
    perform refuse('plan_content_required', c_operation, p_task_id);
  end if;
  v_acknowledged := reduction_check(c_operation, p_task_id, v_caller, v_head, char_length(v_content), p_allow_truncation);

  v_ack := document_write('edited', c_operation, p_task_id, v_caller, v_head, null, v_content,
    p_mergeable => not v_acknowledged, p_own_revision => v_acknowledged);
  if p_request_id is not null then
    perform request_remember(c_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return v_ack;
end
$$;

comment on function planledger.plan_edit(uuid, text, text, text, text, boolean, text) is
  'Replaces the one occurrence of p_old_text (not empty) in the plan with p_new_text (may be empty); every other byte and the title stay. Both are literal; occurrences are counted with overlaps. Needs the current p_expected_version. The result has 1 to content_max_bytes() bytes; p_allow_truncation acknowledges a suspicious reduction. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_edit_text_required, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, plan_version_required, plan_version_conflict, plan_edit_not_found, plan_edit_ambiguous, plan_content_too_large, plan_content_required, plan_truncation_rejected, plan_history_unavailable, isolation_not_supported.';
