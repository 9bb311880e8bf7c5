create or replace function planledger.event_audience(p_task_id text, p_token_ids uuid[])
returns table (token_id uuid, principal_id uuid)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
begin
  return query
    select a.id, a.principal_id
    from access_tokens a
      join admissions m on m.principal_id = a.principal_id
    where a.id = any (p_token_ids)
      and a.revoked_at is null
      and (a.expires_at is null or a.expires_at > clock_timestamp())
      and m.task_id = p_task_id and 'plan:read' = any (m.scopes);
end
$$;

comment on function planledger.event_audience(text, uuid[]) is
  'Which of p_token_ids may be told of p_task_id now: tokens that work, of principals that reach the task and may read plans. Asked before each notification, so that a revoked token gets none.';
