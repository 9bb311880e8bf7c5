create or replace function planledger.queue_head(p_task_id text, p_session_id text)
returns uuid
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  return (
    select q.id
    from queue_entries q
      join receipts r on r.task_id = q.task_id and r.id = q.id
      join task_sessions s on s.task_id = q.task_id and s.id = q.session_id
    where q.task_id = p_task_id and q.session_id = p_session_id and r.state = 'pending' and r.dispatch_id is null
      and (s.auto_run or r.is_wanted)
    order by q.place limit 1);
end
$$;

comment on function planledger.queue_head(text, text) is
  'The entry that goes out next by itself, or because somebody asked for it; null where none does.';
