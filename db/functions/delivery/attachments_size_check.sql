create or replace function planledger.attachments_size_check(
  p_operation text,
  p_task_id text,
  p_argument text,
  p_bytes bigint
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if p_bytes > 26214400 then
    perform refuse_argument(p_argument, 'The files of one message have at most 26,214,400 bytes in all.',
      p_operation, p_task_id, true);
  end if;
end
$$;

comment on function planledger.attachments_size_check(text, text, text, bigint) is
  'Refuses (validation_error, naming p_argument) files of more than 25 MiB for one message.';
