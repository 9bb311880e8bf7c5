create or replace function planledger.session_admit(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_lease xid8 default null
)
returns planledger.session
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform require_read_committed(p_operation, p_task_id);
  perform require_labels(p_operation, p_task_id);
  perform require_label('session_id', p_session_id, p_operation, p_task_id);
  perform reach(p_operation, p_principal, p_task_id, 'task:write');
  perform admission_lock(p_operation, p_principal, p_task_id, 'task:write', p_plan => false, p_lease => p_lease);
  return session_lock(p_operation, p_task_id, p_session_id);
end
$$;

comment on function planledger.session_admit(text, uuid, text, text, xid8) is
  'What every change of a session or its queue begins with: checks the names, admits the caller, and takes the lease (shared; with p_lease it must be held by that transaction), admission and session locks. Answers the session.';
