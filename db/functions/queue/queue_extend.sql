create or replace function planledger.queue_extend(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_session planledger.session,
  p_entry planledger.queue_entries,
  p_session_id text,
  p_client_id text,
  p_content text
)
returns planledger.delivery
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform require_label('client_queue_id', p_client_id, p_operation, p_task_id);
  if coalesce(p_content, '') = '' then
    perform refuse_argument('content', 'content is required.', p_operation, p_task_id, true);
  end if;
  update queue_entries q
  set content = prompt_for(p_operation, p_task_id, (p_session).transport, q.content || e'\n\n' || p_content, '{}', '{}'),
    updated_at = clock_timestamp()
  where q.task_id = p_task_id and q.id = (p_entry).id;
  insert into deliveries (task_id, client_id, session_id, action, principal_id, request_sha256, joined_id)
  values (p_task_id, p_client_id, (p_session).id, 'queue', p_principal,
    delivery_digest(p_session_id, p_content, ('{}', '{}')::comment_references, '{}', false, false), (p_entry).id);
  perform queue_changed(p_task_id, (p_session).id);
  return delivery_of(p_task_id, p_client_id);
end
$$;

comment on function planledger.queue_extend(text, uuid, text, planledger.session, planledger.queue_entries, text, text, text) is
  'Puts p_content behind an entry that waits, one empty line between, and remembers the request, which named p_session_id. The caller holds the session''s lock.';
