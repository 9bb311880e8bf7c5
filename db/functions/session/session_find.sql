create or replace function planledger.session_find(p_operation text, p_task_id text, p_session_id text)
returns planledger.session
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_session session := session_of(p_task_id, p_session_id);
begin
  if v_session.id is null then
    perform refuse('session_not_found', p_operation, p_task_id, jsonb_build_object('session_id', p_session_id));
  end if;
  return v_session;
end
$$;

comment on function planledger.session_find(text, text, text) is
  'The session p_session_id of p_task_id; session_not_found where the task has none of that id.';
