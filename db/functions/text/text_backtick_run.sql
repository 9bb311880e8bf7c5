create or replace function planledger.text_backtick_run(p_text text)
returns integer
language plpgsql immutable parallel safe
set search_path = planledger, pg_temp
as $$
begin
  return (select coalesce(max(length(r.run)), 0) from regexp_split_to_table(p_text, '[^`]+') as r (run));
end
$$;

comment on function planledger.text_backtick_run(text) is
  'How many backticks stand in a row in p_text at most.';
