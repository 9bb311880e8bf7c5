create or replace function planledger.text_is_suspicious_reduction(p_old_chars integer, p_new_chars integer)
returns boolean
language sql immutable parallel safe
as $$
  select p_old_chars >= 2000 and p_new_chars * 2 < p_old_chars
$$;

comment on function planledger.text_is_suspicious_reduction(integer, integer) is
  'Whether a document of p_old_chars code points (2,000 at least) would keep fewer than half of them. Exactly half is not suspicious.';
