create or replace function planledger.queue_changed(p_task_id text, p_session_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  insert into events (task_id, kind, session_id) values (p_task_id, 'queue.changed', p_session_id);
end
$$;

comment on function planledger.queue_changed(text, text) is
  'Records that the queue of a session changed. The caller holds the session''s lock.';
