create or replace function planledger.agent_say(p_task_id text, p_token uuid, p_kind text, p_content text, p_message_id uuid)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'say';
  v_session_id text;
begin
  if p_kind is null or p_kind not in ('message', 'thought', 'tool', 'terminal') then
    perform refuse_argument('kind', 'kind must be message, thought, tool or terminal.', c_operation, p_task_id, false);
  elsif p_content is null or octet_length(p_content) not between 1 and 1048576 then
    perform refuse_argument('content', 'content must have 1 to 1,048,576 bytes.', c_operation, p_task_id, false);
  elsif p_message_id is null then
    perform refuse_argument('message_id', 'message_id is required: it makes a repeat harmless.', c_operation, p_task_id, false);
  end if;
  select a.session_id into v_session_id from session_agents a where a.task_id = p_task_id and a.lease_token = p_token;
  -- The session before its agent, as a deletion of the task takes them.
  perform from task_sessions s where s.task_id = p_task_id and s.id = v_session_id for key share;
  perform from session_agents a
  where a.task_id = p_task_id and a.lease_token = p_token and a.lease_expires_at > clock_timestamp()
  for key share;
  if not found then
    perform refuse('lease_lost', c_operation, p_task_id, p_reached => false);
  end if;
  perform transcript_add(p_task_id, v_session_id, 'agent', p_kind, p_content, p_message_id);
end
$$;

comment on function planledger.agent_say(text, uuid, text, text, uuid) is
  'Writes what an agent says into the transcript: p_kind message, thought, tool (what it does) or terminal (what its program shows), p_content 1 to 1,048,576 bytes. p_message_id, of the caller''s, makes a repeat harmless. p_token: of the lease on the agent. Takes no lock but that of the rows it reads. Raises validation_error, lease_lost.';
