create or replace function planledger.message_position(
  p_operation text,
  p_task_id text,
  p_session_id text,
  p_argument text,
  p_message_id uuid
)
returns bigint
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_position bigint;
begin
  if p_message_id is null then
    return null;
  end if;
  select m.position into v_position from session_messages m
  where m.task_id = p_task_id and m.session_id = p_session_id and m.id = p_message_id;
  if not found then
    perform refuse_argument(p_argument, format('%s names no message of this session.', p_argument),
      p_operation, p_task_id, true);
  end if;
  return v_position;
end
$$;

comment on function planledger.message_position(text, text, text, text, uuid) is
  'Where a message stands in the transcript of its session; null for null. validation_error, naming p_argument, where there is none.';
