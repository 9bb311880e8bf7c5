create or replace function planledger.queue_add(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_client_queue_id text,
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
  c_operation constant text := 'add_queue_entry';
begin
  return delivery_accept(c_operation, 'queue', p_principal, p_task_id, p_session_id, p_client_queue_id, p_content,
    p_plan_comment_refs, p_require_primary_session, p_plan_mode, p_attachments, p_lease, p_rerouted_session_id);
end
$$;

comment on function planledger.queue_add(uuid, text, text, text, text, jsonb, boolean, boolean, uuid[], xid8, text) is
  'Accepts a prompt as an entry of its own of a session''s queue, whether the session is busy or not; queue_full at its most entries. Everything else as message_add, whose ids and these share one space for each task. Raises what message_add does, but for session_not_promptable, and queue_full.';
