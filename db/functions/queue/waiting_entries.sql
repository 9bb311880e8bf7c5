-- What waits in a queue, once: its receipt is pending and in no prompt yet.
create or replace view planledger.waiting_entries as
select q.task_id, q.session_id, q.id, q.place, r.is_wanted
from planledger.queue_entries q
  join planledger.receipts r on r.task_id = q.task_id and r.id = q.id
where r.state = 'pending' and r.dispatch_id is null;

comment on view planledger.waiting_entries is 'The entries that wait in the queue of a session and may be edited and moved. For the functions; nobody else may read it.';
comment on column planledger.waiting_entries.task_id is 'The task.';
comment on column planledger.waiting_entries.session_id is 'The session.';
comment on column planledger.waiting_entries.id is 'Of the delivery.';
comment on column planledger.waiting_entries.place is 'Its place in the queue; lower ones go first.';
comment on column planledger.waiting_entries.is_wanted is 'Whether somebody asked for it to go out next.';
