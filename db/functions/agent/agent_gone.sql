create or replace function planledger.agent_gone(p_task_id text, p_session planledger.session, p_failure text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'end_agent';
  c_attempts constant integer := 5;
  v_cut text := coalesce(left(nullif(p_failure, ''), 1000), 'The worker stopped before the turn ended.');
  v_attempts integer;
begin
  if (p_session).state in ('CREATED', 'STARTING') then
    select s.start_attempts into v_attempts from task_sessions s where s.task_id = p_task_id and s.id = (p_session).id;
    if v_attempts >= c_attempts then
      perform session_move(c_operation, p_task_id, p_session, 'FAILED', coalesce(p_failure, 'The agent could not be started.'));
      return;
    end if;
    perform agent_job(p_task_id, (p_session).id,
      case when p_failure is not null then clock_timestamp() + interval '1 second' * power(4, greatest(v_attempts, 1) - 1) end);
    if p_failure is not null then
      perform session_move(c_operation, p_task_id, p_session, 'STARTING', p_failure);
    end if;
  elsif (p_session).state = 'RUNNING' then
    -- What is still to be sent, or being sent, ends by itself, and with it the turn.
    if not exists (
      select from receipts r
      where r.task_id = p_task_id and r.session_id = (p_session).id and r.dispatch_id = (p_session).turn_id
        and r.state in ('pending', 'reserved', 'attempted')) then
      perform transcript_add(p_task_id, (p_session).id, 'system', 'notice', v_cut);
      perform session_free(p_task_id, (p_session).id, (p_session).turn_id, v_cut);
    elsif p_failure is not null then
      perform session_move(c_operation, p_task_id, p_session, (p_session).state, p_failure);
    end if;
  elsif (p_session).state = 'WAITING_FOR_INPUT' and p_failure is not null then
    perform session_move(c_operation, p_task_id, p_session, (p_session).state, p_failure);
  end if;
end
$$;

comment on function planledger.agent_gone(text, planledger.session, text) is
  'What becomes of a session whose agent has ended (p_failure: why, where nobody asked it to). The caller holds its lock.';
