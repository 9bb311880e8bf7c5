create or replace function planledger.prompt_size_check(p_operation text, p_task_id text, p_prompt text)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if octet_length(p_prompt) > 1048576 then
    perform refuse('prompt_too_large', p_operation, p_task_id,
      jsonb_build_object('content_bytes', octet_length(p_prompt), 'limit_bytes', 1048576));
  end if;
end
$$;

comment on function planledger.prompt_size_check(text, text, text) is
  'Refuses (prompt_too_large) a prompt of more than 1,048,576 bytes.';
