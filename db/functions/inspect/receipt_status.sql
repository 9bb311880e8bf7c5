create or replace view planledger.receipt_status as
select
  r.task_id::text as task_id,
  r.id,
  r.session_id::text as session_id,
  r.state::text as state,
  clock_timestamp() - coalesce(r.ended_at, r.attempted_at, r.created_at) as age,
  r.attempts::integer as attempts,
  r.dispatch_id,
  nullif(r.not_before, '-infinity') as not_before,
  case when r.lease_token is not null then r.lease_holder::text end as lease_holder,
  r.lease_expires_at,
  r.state = 'failed' and r.attempted_at is null
    and r.dismissed_at is null and s.state not in ('COMPLETED', 'FAILED', 'CANCELLED') as retryable,
  r.failure::text as failure,
  r.created_at,
  r.attempted_at,
  r.ended_at,
  r.dismissed_at
from planledger.receipts r join planledger.task_sessions s on s.task_id = r.task_id and s.id = r.session_id;

comment on view planledger.receipt_status is 'How far each accepted prompt has come, without its text.';
comment on column planledger.receipt_status.task_id is 'The task.';
comment on column planledger.receipt_status.id is 'Of the receipt, its delivery and message.';
comment on column planledger.receipt_status.session_id is 'Where it goes.';
comment on column planledger.receipt_status.state is 'pending, reserved, attempted, acknowledged, cleared or failed.';
comment on column planledger.receipt_status.age is 'How long ago it was accepted, attempted or ended, whichever came last.';
comment on column planledger.receipt_status.attempts is 'How often a worker has reserved it.';
comment on column planledger.receipt_status.dispatch_id is 'The prompt it goes out in, alone or with others; null while it waits in the queue.';
comment on column planledger.receipt_status.not_before is 'When it may be tried again, after it failed to go out.';
comment on column planledger.receipt_status.lease_holder is 'The worker that has it now.';
comment on column planledger.receipt_status.lease_expires_at is 'When that worker''s lease ends by itself.';
comment on column planledger.receipt_status.retryable is 'Whether receipt_retry takes it: it failed before it went out, its session has not ended, and nobody has dismissed it.';
comment on column planledger.receipt_status.failure is 'What went wrong last.';
comment on column planledger.receipt_status.created_at is 'When the prompt was accepted.';
comment on column planledger.receipt_status.attempted_at is 'When it was about to be sent.';
comment on column planledger.receipt_status.ended_at is 'When it was acknowledged, cleared or failed.';
comment on column planledger.receipt_status.dismissed_at is 'When a person said that nothing more is to be done about it.';
