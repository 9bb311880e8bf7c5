create or replace function planledger.queue_drain(p_principal uuid, p_task_id text, p_session_id text)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'drain_queue';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
begin
  if v_session.accepts <> 'direct' then
    perform refuse(case v_session.accepts when 'nothing' then 'session_terminal' else 'session_not_promptable' end,
      c_operation, p_task_id, jsonb_build_object('session_id', v_session.id, 'state', v_session.state));
  end if;
  update receipts r set is_wanted = true, not_before = '-infinity'
  where r.task_id = p_task_id and r.id = (
    select w.id from waiting_entries w
    where w.task_id = p_task_id and w.session_id = v_session.id order by w.place limit 1);
  perform queue_wake(p_task_id, v_session.id);
  return queue_of(p_task_id, v_session.id);
end
$$;

comment on function planledger.queue_drain(uuid, text, text) is
  'Has the head of the queue go out now, whether the queue runs by itself or not; an empty queue stays as it is. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, session_not_promptable, plan_busy, isolation_not_supported.';
