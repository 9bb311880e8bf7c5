create or replace function planledger.queue_length(p_task_id text, p_session_id text)
returns integer
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  return (
    select count(*) from waiting_entries w where w.task_id = p_task_id and w.session_id = p_session_id);
end
$$;

comment on function planledger.queue_length(text, text) is 'How many entries wait in the queue of a session.';
