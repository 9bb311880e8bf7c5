create or replace function planledger.message_add(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_client_message_id text,
  p_content text,
  p_plan_comment_refs jsonb default '[]',
  p_require_primary_session boolean default false,
  p_plan_mode boolean default false,
  p_attachments uuid[] default '{}',
  p_lease xid8 default null,
  p_rerouted_session_id text default null
)
returns planledger.delivery
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'add_message';
begin
  return delivery_accept(c_operation, 'message', p_principal, p_task_id, p_session_id, p_client_message_id, p_content,
    p_plan_comment_refs, p_require_primary_session, p_plan_mode, p_attachments, p_lease, p_rerouted_session_id);
end
$$;

comment on function planledger.message_add(uuid, text, text, text, text, jsonb, boolean, boolean, uuid[], xid8, text) is
  'Accepts a prompt for a session that waits for one, which is busy from then on. p_client_message_id (1 to 200 characters) makes a repeat harmless: it is answered with the stored delivery. p_content may be empty where p_plan_comment_refs, a list of {id, version} (at most 100), names comments of the current plan; they are put before it and consumed. The prompt has at most 1,048,576 bytes. p_attachments: staged files. p_lease: the admission lease of a turn-start hook; p_rerouted_session_id: where that hook sent it. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, idempotency_conflict, session_not_found, primary_session_changed, session_terminal, session_not_promptable, plan_comments_changed, prompt_too_large, attachment_not_found, admission_lease_lost, plan_busy, isolation_not_supported.';
