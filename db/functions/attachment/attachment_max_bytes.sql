create or replace function planledger.attachment_max_bytes()
returns integer
language sql immutable parallel safe
as $$
  select 10485760
$$;

comment on function planledger.attachment_max_bytes() is
  'The largest file that may be staged, in bytes. A constant, not a setting.';
