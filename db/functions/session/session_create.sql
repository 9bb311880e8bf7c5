create or replace function planledger.session_create(
  p_principal uuid,
  p_task_id text,
  p_name text,
  p_session_id text default null,
  p_agent_name text default null,
  p_transport text default null,
  p_is_primary boolean default null
)
returns planledger.session
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'create_session';
  v_id text := coalesce(p_session_id, gen_random_uuid()::text);
  v_has_primary boolean;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform require_label('name', p_name, c_operation, p_task_id);
  perform require_label('session_id', v_id, c_operation, p_task_id);
  perform require_label('agent_name', coalesce(p_agent_name, p_name), c_operation, p_task_id);
  if p_transport is not null and p_transport not in ('acp', 'passthrough', 'webhook') then
    perform refuse_argument('transport', 'transport must be acp, passthrough or webhook.', c_operation, p_task_id, false);
  end if;
  perform reach(c_operation, p_principal, p_task_id, 'task:write');

  perform admission_lock(c_operation, p_principal, p_task_id, 'task:write', p_plan => false);
  v_has_primary := exists (select from task_sessions s where s.task_id = p_task_id and s.is_primary);
  if p_is_primary then
    perform session_demote(p_task_id);
  end if;
  insert into task_sessions (task_id, id, name, agent_name, transport, is_primary, state)
  values (p_task_id, v_id, p_name, coalesce(p_agent_name, p_name), p_transport, coalesce(p_is_primary, not v_has_primary),
    case p_transport when 'webhook' then 'WAITING_FOR_INPUT' else 'CREATED' end)  -- nothing has to be started there
  on conflict (task_id, id) do nothing;
  if not found then
    perform refuse_argument('session_id', 'session_id is already in use.', c_operation, p_task_id, true);
  end if;
  perform agent_job(p_task_id, v_id);
  perform session_changed(p_task_id, v_id);
  return session_of(p_task_id, v_id);
end
$$;

comment on function planledger.session_create(uuid, text, text, text, text, text, boolean) is
  'Makes a session of p_task_id, in state CREATED; where a worker runs its agent, one starts it, and where it is called over HTTP it waits for a prompt at once. p_name and p_agent_name (p_name when null; the name under which a worker knows the agent): 1 to 200 characters; p_session_id is generated when null. p_transport: acp, passthrough, webhook, or null where a program of somebody''s own takes the receipts. p_is_primary: true takes the primary''s place; null makes the first session primary. Takes the lease (shared) and admission locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
