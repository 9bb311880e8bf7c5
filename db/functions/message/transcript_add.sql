create or replace function planledger.transcript_add(
  p_task_id text,
  p_session_id text,
  p_role text,
  p_kind text,
  p_content text,
  p_message_id uuid default gen_random_uuid()
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  insert into session_messages (task_id, id, session_id, role, kind, content, author_name)
  select s.task_id, p_message_id, s.id, p_role, p_kind, p_content, case p_role when 'agent' then s.agent_name else 'Planledger' end
  from task_sessions s where s.task_id = p_task_id and s.id = p_session_id
  on conflict (task_id, id) do nothing;
  if found then
    insert into events (task_id, kind, session_id, message_id)
    values (p_task_id, 'message.added', p_session_id, p_message_id);
  end if;
end
$$;

comment on function planledger.transcript_add(text, text, text, text, text, uuid) is
  'Writes what an agent says, or what became of a prompt, into the transcript of a session, once for each p_message_id.';
