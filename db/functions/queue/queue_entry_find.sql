create or replace function planledger.queue_entry_find(
  p_operation text,
  p_task_id text,
  p_session_id text,
  p_entry_id uuid
)
returns planledger.queue_entries
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_entry queue_entries;
begin
  select q.* into v_entry
  from waiting_entries w join queue_entries q on q.task_id = w.task_id and q.id = w.id
  where w.task_id = p_task_id and w.session_id = p_session_id and w.id = p_entry_id;
  if not found then
    perform refuse('queue_entry_not_found', p_operation, p_task_id, jsonb_build_object('entry_id', p_entry_id));
  end if;
  return v_entry;
end
$$;

comment on function planledger.queue_entry_find(text, text, text, uuid) is
  'An entry that still waits in the queue of a session; queue_entry_not_found where it does not. The caller holds the session''s lock.';
