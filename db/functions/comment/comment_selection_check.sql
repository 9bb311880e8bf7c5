create or replace function planledger.comment_selection_check(p_operation text, p_task_id text, p_selected_text text)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  c_bytes_max constant integer := 262144;
begin
  if coalesce(p_selected_text, '') = '' then
    perform refuse_argument('selected_text', 'selected_text is missing or empty: a comment is about a part of the plan.',
      p_operation, p_task_id, true);
  elsif octet_length(p_selected_text) > c_bytes_max then
    perform refuse('comment_selection_too_large', p_operation, p_task_id,
      jsonb_build_object('content_bytes', octet_length(p_selected_text), 'limit_bytes', c_bytes_max));
  end if;
end
$$;

comment on function planledger.comment_selection_check(text, text, text) is
  'Refuses a selected text that is empty (validation_error) or over 262,144 bytes (comment_selection_too_large).';
