create or replace function planledger.plan_put(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_content text,
  p_title text,
  p_expected_version text,
  p_allow_truncation boolean,
  p_request_id text,
  p_policy text
)
returns planledger.plan_write_ack
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_caller caller;
  v_head plan_head;
  v_ack plan_write_ack;
  v_arguments jsonb;
  v_content text := p_content;
  v_acknowledged boolean;
begin
  perform require_read_committed(p_operation, p_task_id);
  perform require_labels(p_operation, p_task_id, p_title, p_request_id);
  v_caller := reach(p_operation, p_principal, p_task_id, 'plan:write', p_policy);

  if v_caller.guarded and coalesce(p_content, '') = '' then
    perform refuse('plan_content_required', p_operation, p_task_id);
  end if;
  perform size_check(p_operation, p_task_id, octet_length(p_content));

  perform lock_take('plan', p_operation, p_task_id);
  perform reach_again(p_operation, p_principal, p_task_id, 'plan:write');
  if p_request_id is not null then
    v_arguments := jsonb_build_array(p_content, nullif(p_title, ''), nullif(p_expected_version, ''),
      coalesce(p_allow_truncation, false), p_policy);
    v_ack := request_replay(p_operation, p_task_id, v_caller, p_request_id, v_arguments);
    if v_ack.replayed then
      return v_ack;
    end if;
  end if;

  v_head := head_read(p_operation, p_task_id, p_required => p_operation <> 'create');
  perform version_check(p_operation, p_task_id, v_head, p_expected_version,
    v_caller.guarded and v_head.plan_id is not null);

  if v_content is null and v_head.plan_id is not null then
    -- A browser that sends no content means to change the title only.
    v_content := revision_text('plan_head_unavailable', p_operation, p_task_id,
      v_head.first_segment, v_head.last_segment, v_head.tail, v_head.content_bytes);
  end if;
  v_content := coalesce(v_content, '');
  v_acknowledged := reduction_check(p_operation, p_task_id, v_caller, v_head, char_length(v_content), p_allow_truncation);

  v_ack := document_write(
    case when v_head.plan_id is null then 'created' else 'replaced' end,
    p_operation, p_task_id, v_caller, v_head, p_title, v_content,
    p_mergeable => not v_acknowledged, p_own_revision => v_acknowledged);
  if p_request_id is not null then
    perform request_remember(p_operation, p_task_id, v_caller, p_request_id, v_arguments, v_ack);
  end if;
  return v_ack;
end
$$;

comment on function planledger.plan_put(text, uuid, text, text, text, text, boolean, text, text) is
  'What plan_create and plan_replace share: the whole document is written; p_operation create also makes a plan where there is none.';
