create or replace function planledger.require_label(
  p_argument text,
  p_value text,
  p_operation text,
  p_task_id text
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if p_value is null or char_length(p_value) not between 1 and 200 then
    perform refuse_argument(p_argument,
      format('%s must have 1 to 200 characters; it has %s.', p_argument, coalesce(char_length(p_value), 0)),
      p_operation, left(p_task_id, 200), false);
  end if;
end
$$;

comment on function planledger.require_label(text, text, text, text) is
  'Refuses (validation_error, naming p_argument) a p_value that is not 1 to 200 characters.';
