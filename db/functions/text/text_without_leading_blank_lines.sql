-- A line ends with \n or \r\n and with nothing else, and a carriage return is white space,
-- so the blank lines in front end at the last \n of the leading white space. What follows
-- that \n is the indent of the first line with a character, and is kept.
create or replace function planledger.text_without_leading_blank_lines(p_text text)
returns text
language sql immutable parallel safe
as $$
  select case
    when ltrim(left(p_text, 1), planledger.white_space()) <> '' then p_text
    else split_part(left(p_text, length(p_text) - length(ltrim(p_text, planledger.white_space()))), E'\n', -1)
      || ltrim(p_text, planledger.white_space())
  end
$$;

comment on function planledger.text_without_leading_blank_lines(text) is
  'p_text without its leading lines that are empty or white space; the first other line keeps its indent. A text of white space only keeps what follows its last line end.';
