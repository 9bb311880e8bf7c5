create or replace function planledger.queue_next_place(p_task_id text, p_session_id text)
returns integer
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  return (
    select coalesce(max(q.place), 0) + 1 from queue_entries q
    where q.task_id = p_task_id and q.session_id = p_session_id);
end
$$;

comment on function planledger.queue_next_place(text, text) is 'The place behind all others in the queue of a session.';
