create or replace function planledger.queue_cancel(p_principal uuid, p_task_id text, p_session_id text)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'cancel_queue';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
begin
  delete from receipts r using waiting_entries w
  where w.task_id = p_task_id and w.session_id = v_session.id and r.task_id = w.task_id and r.id = w.id;
  update task_sessions s set queue_incarnation = gen_random_uuid() where s.task_id = p_task_id and s.id = v_session.id;
  perform queue_changed(p_task_id, v_session.id);
  return queue_of(p_task_id, v_session.id);
end
$$;

comment on function planledger.queue_cancel(uuid, text, text) is
  'Empties the queue of a session, which gets a new incarnation; comments that its entries carried stay consumed. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported.';
