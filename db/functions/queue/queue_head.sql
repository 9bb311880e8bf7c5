create or replace function planledger.queue_head(p_task_id text, p_session_id text)
returns uuid
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  return (
    select w.id
    from waiting_entries w join task_sessions s on s.task_id = w.task_id and s.id = w.session_id
    where w.task_id = p_task_id and w.session_id = p_session_id and (s.auto_run or w.is_wanted)
    order by w.place limit 1);
end
$$;

comment on function planledger.queue_head(text, text) is
  'The entry that goes out next by itself, or because somebody asked for it; null where none does.';
