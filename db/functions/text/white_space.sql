-- The one definition of white space: the characters whose Unicode White_Space property
-- is true. JavaScript's trim() and PostgreSQL's \s are each a different set.
create or replace function planledger.white_space()
returns text
language sql immutable parallel safe
as $$
  select E'\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'
$$;

comment on function planledger.white_space() is
  'The characters that count as white space everywhere: Unicode property White_Space, 25 code points. Not U+200B, U+180E or U+FEFF.';
