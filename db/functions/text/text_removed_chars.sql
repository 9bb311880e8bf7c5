-- Bisection over bytea: comparing slices is memcmp, which takes under 2 ms at the size
-- limit, where walking characters would take seconds.
create or replace function planledger.text_removed_chars(p_old text, p_new text)
returns integer
language plpgsql immutable parallel safe
set search_path = planledger, pg_temp
as $$
declare
  v_old bytea := convert_to(p_old, 'UTF8');
  v_new bytea := convert_to(p_new, 'UTF8');
  v_old_bytes integer := length(v_old);
  v_new_bytes integer := length(v_new);
  v_prefix integer := 0;
  v_suffix integer := 0;
  v_above integer := least(v_old_bytes, v_new_bytes);
  v_middle integer;
begin
  while v_prefix < v_above loop
    v_middle := (v_prefix + v_above + 1) / 2;
    if substr(v_old, v_prefix + 1, v_middle - v_prefix) = substr(v_new, v_prefix + 1, v_middle - v_prefix) then
      v_prefix := v_middle;
    else
      v_above := v_middle - 1;
    end if;
  end loop;
  -- A character must match whole: step back over the bytes of a half-matched one.
  while v_prefix > 0 and v_prefix < v_old_bytes and get_byte(v_old, v_prefix) & 192 = 128 loop
    v_prefix := v_prefix - 1;
  end loop;

  v_above := least(v_old_bytes, v_new_bytes) - v_prefix;
  while v_suffix < v_above loop
    v_middle := (v_suffix + v_above + 1) / 2;
    if substr(v_old, v_old_bytes - v_middle + 1, v_middle - v_suffix)
       = substr(v_new, v_new_bytes - v_middle + 1, v_middle - v_suffix) then
      v_suffix := v_middle;
    else
      v_above := v_middle - 1;
    end if;
  end loop;
  while v_suffix > 0 and get_byte(v_old, v_old_bytes - v_suffix) & 192 = 128 loop
    v_suffix := v_suffix - 1;
  end loop;

  return char_length(convert_from(substr(v_old, v_prefix + 1, v_old_bytes - v_prefix - v_suffix), 'UTF8'));
end
$$;

comment on function planledger.text_removed_chars(text, text) is
  'How many characters of p_old are gone in p_new: those of p_old, minus the longest common prefix, minus the longest common suffix of what the prefix leaves in both. Source: coalescing, "merging never eats work".';
