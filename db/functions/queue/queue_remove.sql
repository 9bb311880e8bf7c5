create or replace function planledger.queue_remove(p_principal uuid, p_task_id text, p_session_id text, p_entry_id uuid)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'remove_queue_entry';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
  v_entry queue_entries := queue_entry_find(c_operation, p_task_id, p_session_id, p_entry_id);
begin
  delete from receipts r where r.task_id = p_task_id and r.id = v_entry.id;
  if queue_length(p_task_id, v_session.id) = 0 then
    update task_sessions s set queue_incarnation = gen_random_uuid() where s.task_id = p_task_id and s.id = v_session.id;
  end if;
  perform queue_changed(p_task_id, v_session.id);
  perform queue_wake(p_task_id, v_session.id);
  return queue_of(p_task_id, v_session.id);
end
$$;

comment on function planledger.queue_remove(uuid, text, text, uuid) is
  'Takes one entry that waits out of the queue; comments that it carried stay consumed. A queue that is empty then gets a new incarnation. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, queue_entry_not_found, plan_busy, isolation_not_supported.';
