-- What puts itself right does so within a minute or two; what is here longer does not.
create or replace view planledger.stuck_deliveries as
select
  r.task_id::text as task_id,
  r.session_id::text as session_id,
  r.id as receipt_id,
  r.state::text as state,
  clock_timestamp() - coalesce(r.ended_at, r.attempted_at, r.created_at) as age,
  case
    when r.state = 'failed' and r.attempted_at is null and s.state in ('COMPLETED', 'FAILED', 'CANCELLED')
      then 'It failed before it went out, and its session has ended. Send it to another session if it is still wanted.'
    when r.state = 'failed' and r.attempted_at is null then 'It failed before it went out. Try it again with receipt_retry, or tell its author.'
    when r.state = 'failed' then 'The agent refused it. Send it anew if it is still wanted.'
    when r.state = 'cleared' then 'It may have arrived. Look into the transcript before sending it anew.'
    when r.state in ('reserved', 'attempted') then 'Its lease has ended and nobody has reconciled it: no worker runs.'
    when s.transport is null then 'The session has no transport: a program of somebody''s own takes it, and has not.'
    else 'No worker has taken it: none runs, or its agent cannot be reached.'
  end as meaning,
  r.failure::text as failure
from planledger.receipts r
  join planledger.task_sessions s on s.task_id = r.task_id and s.id = r.session_id
where (r.state in ('failed', 'cleared') and r.dismissed_at is null)
  or (r.state in ('reserved', 'attempted') and r.lease_expires_at < clock_timestamp() - interval '2 minutes')
  or (r.state = 'pending'
    -- What a turn waits for, or the head of a queue whose session waits: all else has its time to come.
    and (r.dispatch_id = s.turn_id or s.state = 'WAITING_FOR_INPUT' and r.id = (
      select q.id from planledger.queue_entries q join planledger.receipts w on w.task_id = q.task_id and w.id = q.id
      where q.task_id = r.task_id and q.session_id = r.session_id and w.state = 'pending' and w.dispatch_id is null
        and (s.auto_run or w.is_wanted)
      order by q.place limit 1))
    and greatest(r.created_at, r.not_before, s.updated_at) < clock_timestamp() - interval '2 minutes');

comment on view planledger.stuck_deliveries is 'Accepted prompts that a person should look at and has not dismissed, and what each means.';
comment on column planledger.stuck_deliveries.task_id is 'The task.';
comment on column planledger.stuck_deliveries.session_id is 'The session.';
comment on column planledger.stuck_deliveries.receipt_id is 'The receipt.';
comment on column planledger.stuck_deliveries.state is 'How far it has come.';
comment on column planledger.stuck_deliveries.age is 'How long ago that was.';
comment on column planledger.stuck_deliveries.meaning is 'What that means and what to do.';
comment on column planledger.stuck_deliveries.failure is 'What went wrong last.';
