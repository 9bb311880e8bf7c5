create or replace function planledger.receipts_wake(p_task_id text, p_session_id text)
returns integer
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_count integer;
begin
  perform queue_wake(p_task_id, p_session_id);
  perform receipt_job(p_task_id, r.id) from receipts r join task_sessions s on s.task_id = r.task_id and s.id = r.session_id
  where r.task_id = p_task_id and r.session_id = p_session_id and r.state = 'pending' and r.dispatch_id = s.turn_id
    and r.dispatch_place = 1;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;

comment on function planledger.receipts_wake(text, text) is
  'Gives what a session has pending a job. The caller holds the session''s lock.';
