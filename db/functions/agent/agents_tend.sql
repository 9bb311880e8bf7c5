-- The worker's look at its sessions, once a second: a renewal that is not due writes nothing.
create or replace function planledger.agents_tend(p_holder text, p_tokens uuid[], p_lease interval default interval '1 minute')
returns table (task_id text, session_id text, agent_token uuid, wanted boolean, cancel_turn_id uuid, receipt_id uuid)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'tend_agents';
  v_now timestamptz := clock_timestamp();
begin
  perform require_label('holder', p_holder, c_operation, null);
  if p_lease is null or p_lease not between interval '1 second' and interval '1 hour' then
    perform refuse_argument('lease', 'lease must be 1 second to 1 hour.', c_operation, null, false);
  end if;
  -- One that somebody works on is left to the next look, so that it holds up no other.
  with due as (
    select a.task_id, a.session_id from session_agents a
    where a.holder = p_holder and a.lease_token = any (p_tokens)
      and a.lease_expires_at > v_now and a.lease_expires_at < v_now + p_lease * 0.75
    for no key update skip locked
  )
  update session_agents a set lease_expires_at = v_now + p_lease
  from due d where a.task_id = d.task_id and a.session_id = d.session_id;
  return query
    select a.task_id::text, a.session_id::text, a.lease_token,
      session_accepts(s.state) <> 'nothing', case when s.cancel_turn_id = s.turn_id then s.cancel_turn_id end, (
        select r.id from receipts r
        where r.task_id = a.task_id and r.session_id = a.session_id and r.state = 'pending' and r.not_before <= v_now
          and case when r.dispatch_id is null
            then s.state = 'WAITING_FOR_INPUT' and r.id = queue_head(a.task_id, a.session_id)
            else r.dispatch_id = s.turn_id and r.dispatch_place = 1 end
        limit 1)
    from session_agents a join task_sessions s on s.task_id = a.task_id and s.id = a.session_id
    where a.holder = p_holder and a.lease_token = any (p_tokens) and a.lease_expires_at > v_now;
end
$$;

comment on function planledger.agents_tend(text, uuid[], interval) is
  'Renews the leases p_tokens of the worker p_holder on agents, whose processes run, for p_lease (1 second to 1 hour) from now, and answers those it still has; any other ends by itself: wanted is false where the session has ended and so should the agent; cancel_turn_id, the turn that somebody wants cancelled; receipt_id, a prompt that waits for this agent. Takes no lock but that of the rows it renews, and waits for none. Raises validation_error.';
