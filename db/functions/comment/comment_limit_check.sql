create or replace function planledger.comment_limit_check(p_operation text, p_task_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  c_count_max constant integer := 100;
  c_bytes_max constant integer := 1048576;
  v_count integer;
  v_bytes bigint;
begin
  select count(*), sum(octet_length(c.body) + octet_length(c.selected_text)) into v_count, v_bytes
  from plan_comments c where c.task_id = p_task_id;
  if v_count > c_count_max or v_bytes > c_bytes_max then
    perform refuse('comment_limit_exceeded', p_operation, p_task_id, jsonb_build_object(
      'comments', v_count, 'limit_comments', c_count_max, 'content_bytes', v_bytes, 'limit_bytes', c_bytes_max));
  end if;
end
$$;

comment on function planledger.comment_limit_check(text, text) is
  'Refuses what made the pending comments of a plan more than 100, or their bodies and selected texts more than 1,048,576 bytes (comment_limit_exceeded).';
