create or replace function planledger.receipts_fail(p_task_id text, p_session_id text, p_failure text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  update receipts r
  set state = 'failed', failure = p_failure, ended_at = clock_timestamp(), lease_token = null, lease_expires_at = null
  where r.task_id = p_task_id and r.session_id = p_session_id and r.state in ('pending', 'reserved');
  if found then
    perform transcript_add(p_task_id, p_session_id, 'system', 'notice', 'What had not gone out is not delivered. ' || p_failure);
    perform queue_changed(p_task_id, p_session_id);
  end if;
end
$$;

comment on function planledger.receipts_fail(text, text, text) is
  'Fails everything that a session has accepted and not been sent yet; a worker that has some of it reserved loses its lease. The caller holds the session''s lock.';
