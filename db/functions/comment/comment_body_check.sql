create or replace function planledger.comment_body_check(p_operation text, p_task_id text, p_body text)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  c_bytes_max constant integer := 65536;
begin
  if coalesce(text_without_trailing_space(p_body), '') = '' then
    perform refuse_argument('body', 'The comment says nothing: body is missing, empty or only white space.',
      p_operation, p_task_id, true);
  elsif octet_length(p_body) > c_bytes_max then
    perform refuse('comment_body_too_large', p_operation, p_task_id,
      jsonb_build_object('content_bytes', octet_length(p_body), 'limit_bytes', c_bytes_max));
  end if;
end
$$;

comment on function planledger.comment_body_check(text, text, text) is
  'Refuses a body of a comment that is empty or only white space (validation_error) or over 65,536 bytes (comment_body_too_large).';
