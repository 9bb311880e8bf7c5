-- Each session by itself and in a fixed order, so that a worker that holds one holds up
-- nothing else, and two reconciliations never wait for each other in a circle.
create or replace function planledger.receipts_reconcile()
returns table (released bigint, woken bigint, cleared bigint)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'reconcile_receipts';
  v_session record;
  v_receipt receipts;
begin
  perform require_read_committed(c_operation, null);
  released := 0;
  woken := 0;
  cleared := 0;
  for v_session in
    select r.task_id, r.session_id from receipts r where r.state in ('pending', 'reserved', 'attempted')
    union
    select s.task_id, s.id from task_sessions s
    where s.state in ('CREATED', 'STARTING', 'RUNNING') and s.transport in ('acp', 'passthrough')
    union
    select a.task_id, a.session_id from session_agents a where a.lease_expires_at <= clock_timestamp()
    order by 1, 2
  loop
    perform from tasks t where t.id = v_session.task_id for no key update skip locked;
    continue when not found
      or not pg_try_advisory_xact_lock(lock_key('session', concat_ws('/', v_session.task_id, v_session.session_id)));
    for v_receipt in
      select distinct on (r.dispatch_id) r.* from receipts r
      where r.task_id = v_session.task_id and r.session_id = v_session.session_id
        and r.state in ('reserved', 'attempted') and r.lease_expires_at <= clock_timestamp()
      order by r.dispatch_id, r.dispatch_place
    loop
      if v_receipt.state = 'reserved' then
        perform receipts_put_back(v_receipt, 'The worker that had it did not come back.');
        released := released + 1;
      else
        perform receipts_end(v_receipt, 'cleared', 'The worker that sent it did not come back.');
        perform session_free(v_session.task_id, v_session.session_id, v_receipt.dispatch_id, 'Whether the agent has the last prompt is not known.');
        cleared := cleared + 1;
      end if;
    end loop;
    perform agent_reconcile(v_session.task_id, v_session.session_id);
    woken := woken + receipts_wake(v_session.task_id, v_session.session_id);
  end loop;
  return next;
end
$$;

comment on function planledger.receipts_reconcile() is
  'Puts right what workers that died have left: expired reservations are given back, attempts that nobody acknowledged are cleared and never sent again, what is pending has a job, and a session whose agent died with its worker waits for a prompt again, or is started. Answers how many of each. Leaves out sessions that somebody works on. Raises isolation_not_supported.';
