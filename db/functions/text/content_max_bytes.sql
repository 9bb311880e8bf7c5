create or replace function planledger.content_max_bytes()
returns integer
language sql immutable parallel safe
as $$
  select 262144
$$;

comment on function planledger.content_max_bytes() is
  'The largest plan a write that admits caller text may store, in UTF-8 bytes. A constant, not a setting.';
