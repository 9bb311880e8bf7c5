create or replace function planledger.queue_update(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_entry_id uuid,
  p_content text
)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'update_queue_entry';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
  v_entry queue_entries := queue_entry_find(c_operation, p_task_id, p_session_id, p_entry_id);
begin
  if coalesce(p_content, '') = '' then
    perform refuse_argument('content', 'content is required; remove the entry if nothing is to be said.',
      c_operation, p_task_id, true);
  end if;
  update queue_entries q
  set content = prompt_for(c_operation, p_task_id, v_session.transport, p_content, '{}', '{}'), updated_at = clock_timestamp()
  where q.task_id = p_task_id and q.id = v_entry.id;
  perform queue_changed(p_task_id, p_session_id);
  return queue_of(p_task_id, p_session_id);
end
$$;

comment on function planledger.queue_update(uuid, text, text, uuid, text) is
  'Replaces the text of an entry that waits, the whole of what the agent will get; comments that it carried stay consumed. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, queue_entry_not_found, prompt_too_large, plan_busy, isolation_not_supported.';
