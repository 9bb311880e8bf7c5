create or replace function planledger.agent_say(p_task_id text, p_token uuid, p_kind text, p_content text, p_message_id uuid)
returns void
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'say';
  v_session session;
begin
  if p_kind is null or p_kind not in ('message', 'thought', 'tool', 'terminal') then
    perform refuse_argument('kind', 'kind must be message, thought, tool or terminal.', c_operation, p_task_id, false);
  elsif p_content is null or octet_length(p_content) not between 1 and 1048576 then
    perform refuse_argument('content', 'content must have 1 to 1,048,576 bytes.', c_operation, p_task_id, false);
  elsif p_message_id is null then
    perform refuse_argument('message_id', 'message_id is required: it makes a repeat harmless.', c_operation, p_task_id, false);
  end if;
  -- What is written later stands later: whoever reads on from a row misses none.
  v_session := agent_of_lease(c_operation, p_task_id, p_token);
  perform transcript_add(p_task_id, v_session.id, 'agent', p_kind, p_content, p_message_id);
end
$$;

comment on function planledger.agent_say(text, uuid, text, text, uuid) is
  'Writes what an agent says into the transcript: p_kind message, thought, tool (what it does) or terminal (what its program shows), p_content 1 to 1,048,576 bytes. p_message_id, of the caller''s, makes a repeat harmless. p_token: of the lease on the agent. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported.';
