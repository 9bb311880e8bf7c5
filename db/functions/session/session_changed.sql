create or replace function planledger.session_changed(p_task_id text, p_session_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  insert into events (task_id, kind, session_id) values (p_task_id, 'session.changed', p_session_id);
end
$$;

comment on function planledger.session_changed(text, text) is
  'Records that a session changed. The caller has set updated_at, and holds its lock.';
