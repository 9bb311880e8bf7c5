create or replace function planledger.receipt_reserve(
  p_task_id text,
  p_receipt_id uuid,
  p_holder text,
  p_lease interval default interval '1 minute'
)
returns table (
  outcome text, lease_token uuid, lease_expires_at timestamptz, session_id text, agent_name text, transport text,
  agent_token uuid, has_attachments boolean
)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'reserve_receipt';
  v_now timestamptz;
  v_session session;
  v_receipt receipts;
  v_token uuid := gen_random_uuid();
  v_agent_token uuid;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_label('holder', p_holder, c_operation, p_task_id);
  if p_lease is null or p_lease not between interval '1 second' and interval '1 hour' then
    perform refuse_argument('lease', 'lease must be 1 second to 1 hour.', c_operation, p_task_id, false);
  end if;
  select * into v_receipt from receipts r where r.task_id = p_task_id and r.id = p_receipt_id;
  if not found then
    return query select 'ended', null::uuid, null::timestamptz, null, null, null, null::uuid, null::boolean;
    return;
  end if;
  v_session := session_hold(c_operation, p_task_id, v_receipt.session_id);
  v_now := clock_timestamp();
  select * into v_receipt from receipts r where r.task_id = p_task_id and r.id = p_receipt_id;

  if not found or v_receipt.state not in ('pending', 'reserved') then
    return query select 'ended', null::uuid, null::timestamptz, v_session.id, null, null, null::uuid, null::boolean;
    return;
  elsif v_receipt.state = 'reserved' and v_receipt.lease_expires_at > v_now then
    return query select 'held', null::uuid, v_receipt.lease_expires_at, v_session.id, null, null, null::uuid, null::boolean;
    return;
  elsif v_receipt.not_before > v_now or not (case when v_receipt.dispatch_id is null
    then v_session.accepts = 'direct' and p_receipt_id is not distinct from queue_head(p_task_id, v_session.id)
    else v_session.turn_id = v_receipt.dispatch_id end)
  then
    return query select 'waiting', null::uuid, null::timestamptz, v_session.id, null, null, null::uuid, null::boolean;
    return;
  end if;
  if v_session.transport in ('acp', 'passthrough') then
    v_agent_token := agent_take(v_session, p_holder, p_lease);
    if v_agent_token is null then
      perform agent_postpone(p_task_id, p_receipt_id, v_session.id);
      return query select 'elsewhere', null::uuid, null::timestamptz, v_session.id, null, null, null::uuid, null::boolean;
      return;
    end if;
  end if;
  update receipts r
  set state = 'reserved', dispatch_id = coalesce(r.dispatch_id, r.id), lease_token = v_token, lease_holder = p_holder,
    lease_expires_at = v_now + p_lease, attempts = r.attempts + 1
  where r.task_id = p_task_id and r.session_id = v_session.id and (r.id = p_receipt_id or r.dispatch_id = v_receipt.dispatch_id)
    and r.state in ('pending', 'reserved');
  if v_receipt.dispatch_id is null then
    perform session_begin_turn(p_task_id, v_session.id, p_receipt_id);
    perform queue_changed(p_task_id, v_session.id);
  end if;
  return query
    select 'reserved', v_token, v_now + p_lease, v_session.id, v_session.agent_name, v_session.transport, v_agent_token,
      exists (select from receipts r join attachments a on a.task_id = r.task_id and a.delivery_id = r.id
        where r.task_id = p_task_id and r.lease_token = v_token);
end
$$;

comment on function planledger.receipt_reserve(text, uuid, text, interval) is
  'Takes a receipt, with those that go out in one prompt with it, for p_lease (1 second to 1 hour): outcome reserved, with the token that the later calls need, and whether the prompt has files (has_attachments). held: another has it; waiting: its time or turn has not come; ended: it was attempted or is gone; elsewhere: another worker runs the agent of its session, and looks for it by agents_tend. p_holder (1 to 200 characters) names the worker, each process with a name of its own. Where a worker runs the agent (transport acp or passthrough) p_holder has the lease on it too, with agent_token. An entry of the queue is taken only from its head, by a session that waits for a prompt, which is busy from then on. Takes the session lock. Raises validation_error, plan_busy, isolation_not_supported.';
