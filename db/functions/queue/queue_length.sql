create or replace function planledger.queue_length(p_task_id text, p_session_id text)
returns integer
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  return (
    select count(*) from queue_entries q join receipts r on r.task_id = q.task_id and r.id = q.id
    where q.task_id = p_task_id and q.session_id = p_session_id and r.state = 'pending' and r.dispatch_id is null);
end
$$;

comment on function planledger.queue_length(text, text) is 'How many entries wait in the queue of a session.';
