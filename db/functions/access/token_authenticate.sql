create or replace function planledger.token_authenticate(p_token_sha256 bytea)
returns table (
  token_id uuid, principal_id uuid, kind text, display_name text, scopes text[],
  workspace_id text, task_id text, session_id text, expires_at timestamptz
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'authenticate';
begin
  return query
    select a.id, p.id, p.kind, p.display_name::text, p.scopes,
      p.workspace_id::text, p.session_task_id::text, p.session_id::text, a.expires_at
    from access_tokens a join principals p on p.id = a.principal_id
    where a.token_sha256 = p_token_sha256
      and token_works(a.revoked_at, a.expires_at);
  if not found then
    perform refuse('unauthenticated', c_operation, null, p_reached => false);
  end if;
end
$$;

comment on function planledger.token_authenticate(bytea) is
  'Who the bearer of a token is. Takes the SHA-256 of the token (32 bytes), so that the token itself reaches no log. Raises unauthenticated for one that is unknown, expired or revoked.';
