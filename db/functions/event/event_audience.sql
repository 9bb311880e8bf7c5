create or replace function planledger.event_audience(p_task_id text, p_token_ids uuid[])
returns table (token_id uuid, principal_id uuid, reaches boolean, task_gone boolean)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
begin
  return query
    select a.id, a.principal_id,
      exists (
        select from admissions m
        where m.principal_id = a.principal_id and m.task_id = p_task_id and 'plan:read' = any (m.scopes)
      ),
      not exists (select from tasks t where t.id = p_task_id)
    from access_tokens a
    where a.id = any (p_token_ids)
      and token_works(a.revoked_at, a.expires_at);
end
$$;

comment on function planledger.event_audience(text, uuid[]) is
  'Which of p_token_ids still work and, for each, whether its principal now reaches p_task_id and may read plans there, and whether that task is gone. Asked before each notification, so that a revoked token gets none.';
