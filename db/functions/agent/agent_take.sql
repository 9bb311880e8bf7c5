create or replace function planledger.agent_take(p_session planledger.session, p_holder text, p_lease interval)
returns uuid
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
  v_token uuid;
begin
  insert into session_agents as a (task_id, session_id, holder, lease_token, lease_expires_at)
  values ((p_session).task_id, (p_session).id, p_holder, gen_random_uuid(), v_now + p_lease)
  on conflict (task_id, session_id) do update
  set holder = p_holder,
    lease_token = case when a.lease_expires_at > v_now then a.lease_token else excluded.lease_token end,
    lease_expires_at = greatest(a.lease_expires_at, excluded.lease_expires_at),
    started_at = case when a.lease_expires_at > v_now then a.started_at else v_now end
  where a.holder = p_holder or a.lease_expires_at <= v_now
  returning a.lease_token into v_token;
  return v_token;
end
$$;

comment on function planledger.agent_take(planledger.session, text, interval) is
  'The lease token of p_holder on the agent of p_session, for p_lease from now at least; null where another worker has it. The caller holds the session''s lock.';
