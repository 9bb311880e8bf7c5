create or replace function planledger.receipts_wake(p_task_id text, p_session_id text)
returns integer
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_count integer;
begin
  -- A session that ended takes nothing: its marker would be refused.
  if (session_of(p_task_id, p_session_id)).accepts = 'nothing' then
    update receipts r
    set state = 'failed', failure = 'The session had ended.', ended_at = clock_timestamp()
    where r.task_id = p_task_id and r.session_id = p_session_id and r.state = 'pending';
    return 0;
  end if;
  perform queue_wake(p_task_id, p_session_id);
  perform receipt_job(p_task_id, r.id) from receipts r
  where r.task_id = p_task_id and r.session_id = p_session_id and r.state = 'pending' and r.dispatch_id is not null
    and r.dispatch_place = 1;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

comment on function planledger.receipts_wake(text, text) is
  'Gives what a session has pending a job, or fails it where the session has ended. The caller holds the session''s lock.';
