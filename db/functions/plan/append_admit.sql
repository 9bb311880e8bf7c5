create or replace function planledger.append_admit(
  p_principal uuid,
  p_task_id text,
  p_fragment text,
  p_title text,
  p_allow_truncation boolean,
  p_request_id text
)
returns planledger.caller
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'append';
  v_caller caller;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id, p_title, p_request_id);
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:write');
  if coalesce(p_fragment, '') = '' then
    perform refuse('plan_content_required', c_operation, p_task_id);
  elsif text_without_trailing_space(p_fragment) = '' then
    perform refuse_argument('content', 'The fragment to append is only white space.', c_operation, p_task_id, true);
  elsif p_allow_truncation then
    perform refuse('plan_append_truncation_not_applicable', c_operation, p_task_id);
  end if;
  perform lock_take('plan', c_operation, p_task_id);
  return v_caller;
end
$$;

comment on function planledger.append_admit(uuid, text, text, text, boolean, text) is
  'What has to hold of an append before HEAD is read, in the order of the specification; the last step takes the plan lock. Answers the caller.';
