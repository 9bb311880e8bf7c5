create or replace function planledger.size_check(p_operation text, p_task_id text, p_content_bytes bigint)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if p_content_bytes > content_max_bytes() then
    perform refuse('plan_content_too_large', p_operation, p_task_id,
      jsonb_build_object('content_bytes', p_content_bytes, 'limit_bytes', content_max_bytes()));
  end if;
end
$$;

comment on function planledger.size_check(text, text, bigint) is
  'Refuses (plan_content_too_large) a document of more than content_max_bytes().';
