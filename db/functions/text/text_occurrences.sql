-- Over bytea, where position() compares with memcmp: strpos() on text takes seconds for a
-- hostile fragment of 128 kB. Valid UTF-8 matches only at character boundaries.
create or replace function planledger.text_occurrences(p_haystack bytea, p_needle bytea, p_most integer)
returns integer[]
language plpgsql immutable parallel safe
set search_path = planledger, pg_temp
as $$
declare
  v_found integer[] := array[]::integer[];
  v_from integer := 1;
  v_at integer;
begin
  while cardinality(v_found) < p_most loop
    v_at := position(p_needle in substr(p_haystack, v_from));
    exit when v_at = 0;
    v_found := v_found || (v_from + v_at - 1);
    v_from := v_from + v_at;
  end loop;
  return v_found;
end
$$;

comment on function planledger.text_occurrences(bytea, bytea, integer) is
  'Where p_needle (not empty) begins in p_haystack, overlaps included: byte positions from 1, the first p_most of them.';
