create or replace function planledger.message_list(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_before_message_id uuid default null,
  p_after_message_id uuid default null,
  p_limit integer default 100
)
returns setof planledger.message
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'list_messages';
  c_page_bytes constant integer := 4194304;
  v_before bigint;
  v_after bigint;
begin
  perform require_labels(c_operation, p_task_id);
  perform require_label('session_id', p_session_id, c_operation, p_task_id);
  if p_limit is null or p_limit not between 1 and 1000 then
    perform refuse_argument('limit', 'limit must be from 1 to 1000.', c_operation, p_task_id, false);
  end if;
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  perform session_find(c_operation, p_task_id, p_session_id);
  v_before := message_position(c_operation, p_task_id, p_session_id, 'before_message_id', p_before_message_id);
  v_after := message_position(c_operation, p_task_id, p_session_id, 'after_message_id', p_after_message_id);

  -- A page ends where its texts have come to c_page_bytes, and has one message at least.
  return query
    select o.*
    from (
      select n.id, n.position, n.place,
        sum(n.bytes) over (order by n.place) - n.bytes as bytes_before
      from (
        select m.id, m.position, octet_length(m.content) as bytes,
          row_number() over (order by case when p_after_message_id is null then -m.position else m.position end) as place
        from session_messages m
        where m.task_id = p_task_id and m.session_id = p_session_id
          and (v_before is null or m.position < v_before) and (v_after is null or m.position > v_after)
        order by place
        limit p_limit
      ) n
    ) p cross join message_of(p_task_id, p.id) o
    where p.place = 1 or p.bytes_before < c_page_bytes
    order by p.position;
end
$$;

comment on function planledger.message_list(uuid, text, text, uuid, uuid, integer) is
  'The transcript of a session in order: p_limit (1 to 1,000) messages, fewer where their texts come to 4 MiB. The last ones; those before p_before_message_id; or those that follow p_after_message_id. Takes no lock. Raises validation_error, task_unreachable, session_not_found.';
