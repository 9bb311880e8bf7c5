create or replace function planledger.lock_key(p_kind text, p_id text)
returns bigint
language sql immutable parallel safe
as $$
  select hashtextextended(p_kind || ':' || p_id, 7310575183460225381)
$$;

comment on function planledger.lock_key(text, text) is
  'The advisory lock key of p_kind (lease, admission, session or plan) and p_id. The constant keeps our keys apart from another application''s.';
