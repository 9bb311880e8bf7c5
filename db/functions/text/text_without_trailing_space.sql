create or replace function planledger.text_without_trailing_space(p_text text)
returns text
language sql immutable parallel safe
as $$
  select rtrim(p_text, planledger.white_space())
$$;

comment on function planledger.text_without_trailing_space(text) is
  'p_text without the white space at its end.';
