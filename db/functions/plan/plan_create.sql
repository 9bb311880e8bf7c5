create or replace function planledger.plan_create(
  p_principal uuid,
  p_task_id text,
  p_content text,
  p_title text default null,
  p_expected_version text default null,
  p_allow_truncation boolean default false,
  p_request_id text default null,
  p_policy text default 'agent'
)
returns planledger.plan_write_ack
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
begin
  return plan_put('create', p_principal, p_task_id, p_content, p_title, p_expected_version,
    p_allow_truncation, p_request_id, p_policy);
end
$$;

comment on function planledger.plan_create(uuid, text, text, text, text, boolean, text, text) is
  'Creates the plan of p_task_id with p_content; where a plan exists, replaces it under the rules of plan_replace. A new plan without a title is titled Plan; p_expected_version where no plan exists is a conflict. At most content_max_bytes(). p_title (1 to 200 characters; empty keeps the stored one). Under the agent policy an existing plan needs the current p_expected_version, and a text that keeps fewer than half of 2,000 characters or more needs p_allow_truncation; p_policy browser (users only) asks for neither, checks p_expected_version when given, and may store an empty text. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_content_required, plan_content_too_large, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_version_required, plan_version_conflict, plan_truncation_rejected, plan_history_unavailable, isolation_not_supported.';
