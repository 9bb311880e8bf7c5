create or replace function planledger.agent_of_lease(p_operation text, p_task_id text, p_token uuid)
returns planledger.session
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_session session;
  v_session_id text;
begin
  perform require_read_committed(p_operation, p_task_id);
  perform require_labels(p_operation, p_task_id);
  select a.session_id into v_session_id from session_agents a where a.task_id = p_task_id and a.lease_token = p_token;
  if found then
    v_session := session_hold(p_operation, p_task_id, v_session_id);
    perform from session_agents a
    where a.task_id = p_task_id and a.lease_token = p_token and a.lease_expires_at > clock_timestamp();
  end if;
  if not found then
    perform refuse('lease_lost', p_operation, p_task_id, p_reached => false);
  end if;
  return v_session;
end
$$;

comment on function planledger.agent_of_lease(text, text, uuid) is
  'The session whose agent the caller runs, locked; lease_lost where the token is unknown or has expired.';
