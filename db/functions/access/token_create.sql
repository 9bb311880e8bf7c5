-- The token is made here and returned once: a return value reaches no log, an argument
-- may. Two random UUIDs carry 244 random bits.
create or replace function planledger.token_create(
  p_principal uuid,
  p_name text,
  p_expires_in interval default null
)
returns table (id uuid, token text, expires_at timestamptz)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'create_token';
  v_token text := 'plt_' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
begin
  perform require_label('name', p_name, c_operation, null);
  if not exists (select from principals p where p.id = p_principal) then
    perform refuse_argument('principal', 'There is no such principal.', c_operation, null, false);
  end if;
  if p_expires_in <= interval '0' or p_expires_in > interval '100 years' then
    perform refuse_argument('expires_in', 'expires_in must be more than zero and at most 100 years.', c_operation, null, false);
  end if;
  return query
    insert into access_tokens as a (principal_id, token_sha256, name, expires_at)
    values (p_principal, sha256(convert_to(v_token, 'UTF8')), p_name, clock_timestamp() + p_expires_in)
    returning a.id, v_token, a.expires_at;
end
$$;

comment on function planledger.token_create(uuid, text, interval) is
  'Makes an access token for p_principal and returns it, the only time it can be seen. p_name (1 to 200 characters) is for people; p_expires_in: lifetime, at most 100 years, null for no end. For administrators. Raises validation_error.';
