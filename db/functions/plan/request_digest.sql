create or replace function planledger.request_digest(p_arguments jsonb)
returns bytea
language sql immutable parallel safe
as $$
  select sha256(convert_to(p_arguments::text, 'UTF8'))
$$;

comment on function planledger.request_digest(jsonb) is
  'What a repeated call must match: SHA-256 over all its arguments.';
