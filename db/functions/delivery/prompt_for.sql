create or replace function planledger.prompt_for(
  p_operation text,
  p_task_id text,
  p_transport text,
  p_content text,
  p_ids uuid[],
  p_versions integer[]
)
returns text
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_prompt text := p_content;
begin
  if cardinality(p_ids) > 0 then
    select prompt_render(array_agg(c.selected_text::text), array_agg(c.body::text), p_content) into v_prompt
    from comments_consume(p_operation, p_task_id,
      (select p.id::text from plans p where p.task_id = p_task_id), p_ids, p_versions) c;
  end if;
  if p_transport = 'passthrough' then
    v_prompt := regexp_replace(v_prompt, e'\r\n?', e'\n', 'g');
    -- A terminal acts on them, and the end of a paste would turn the rest into keystrokes.
    if v_prompt ~ '[\u0001-\u0008\u000b-\u001f\u007f-\u009f]' then
      perform refuse_argument('content',
        'The prompt has control characters, which a terminal would act on; only tabs and line ends are allowed here.',
        p_operation, p_task_id, true);
    end if;
  end if;
  perform prompt_size_check(p_operation, p_task_id, v_prompt);
  return v_prompt;
end
$$;

comment on function planledger.prompt_for(text, text, text, text, uuid[], integer[]) is
  'The prompt of p_content with the comments p_ids at p_versions, which are consumed. For a terminal (p_transport passthrough) CR and CRLF become LF, and control characters are refused. Raises validation_error, plan_comments_changed, prompt_too_large. The caller holds admission_lock.';
