create or replace function planledger.token_revoke(p_token_id text)
returns table (id uuid, name text, revoked_at timestamptz)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'revoke_token';
begin
  return query
    update access_tokens as a set revoked_at = coalesce(a.revoked_at, clock_timestamp())
    where a.id::text = p_token_id
    returning a.id, a.name::text, a.revoked_at;
  if not found then
    perform refuse_argument('token_id', 'There is no such token; token_list shows the ids.', c_operation, null, false);
  end if;
end
$$;

comment on function planledger.token_revoke(text) is
  'Stops the access token with id p_token_id (not the token itself) at once; repeating it changes nothing. For administrators. Raises validation_error.';
