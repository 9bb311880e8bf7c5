create or replace function planledger.token_list(p_workspace_id text default null)
returns table (
  id uuid, name text, principal_id uuid, kind text, display_name text, workspace_id text, task_id text,
  scopes text[], created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, works boolean
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
begin
  return query
    select a.id, a.name::text, p.id, p.kind, p.display_name::text, p.workspace_id::text, p.session_task_id::text,
      p.scopes, a.created_at, a.expires_at, a.revoked_at,
      token_works(a.revoked_at, a.expires_at)
    from access_tokens a join principals p on p.id = a.principal_id
    where p_workspace_id is null or p.workspace_id = p_workspace_id
    order by a.created_at, a.id;
end
$$;

comment on function planledger.token_list(text) is
  'Every access token (of p_workspace_id) with its principal and whether it works now; never the token itself. For administrators.';
