create or replace function planledger.agent_start(
  p_task_id text,
  p_session_id text,
  p_holder text,
  p_lease interval default interval '1 minute'
)
returns table (outcome text, agent_token uuid, agent_name text, transport text)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'start_agent';
  v_session session;
  v_token uuid;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform require_label('session_id', p_session_id, c_operation, p_task_id);
  perform require_label('holder', p_holder, c_operation, p_task_id);
  if p_lease is null or p_lease not between interval '1 second' and interval '1 hour' then
    perform refuse_argument('lease', 'lease must be 1 second to 1 hour.', c_operation, p_task_id, false);
  end if;
  v_session := session_hold(c_operation, p_task_id, p_session_id);
  if v_session.state is null or v_session.state not in ('CREATED', 'STARTING')
    or v_session.transport is null or v_session.transport = 'webhook' then
    return query select 'ended', null::uuid, null, null;
    return;
  elsif exists (
    select from session_agents a
    where a.task_id = p_task_id and a.session_id = p_session_id and a.lease_expires_at > clock_timestamp()) then
    return query select 'held', null::uuid, null, null;
    return;
  end if;
  v_token := agent_take(v_session, p_holder, p_lease);
  update task_sessions s
  set state = 'STARTING', start_attempts = s.start_attempts + 1,
    updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.id = p_session_id;
  perform session_changed(p_task_id, p_session_id);
  return query select 'started', v_token, v_session.agent_name, v_session.transport;
end
$$;

comment on function planledger.agent_start(text, text, text, interval) is
  'Takes the lease on the agent of a session that has none yet, for p_lease (1 second to 1 hour), and has the session be STARTING: outcome started. held: another worker is at it; ended: there is nothing to start. p_holder (1 to 200 characters) names the worker, each process with a name of its own. Takes the session lock. Raises validation_error, plan_busy, isolation_not_supported.';
