-- Up Migration

-- One small row for each write, in the write's own transaction: a hint to look at the
-- task. The key begins with the transaction id, because a reader's cursor is a snapshot
-- and not a number: what a snapshot could not see yet is what a reader has not seen yet.

create domain planledger.event_kind as text
  constraint event_kind_known check (value in (
    'plan.created', 'plan.updated', 'plan.deleted', 'plan.implementation_started',
    'task.created', 'task.archived', 'task.deleted'));
comment on domain planledger.event_kind is 'What an event may say happened.';

create table planledger.events (
  xid xid8 not null default pg_current_xact_id(),
  id bigint generated always as identity,
  task_id text not null,
  kind planledger.event_kind not null,
  plan_id uuid,
  revision_id uuid,
  revision_number integer,
  coalesced boolean,
  restored_from uuid,
  created_at timestamptz not null default clock_timestamp(),
  primary key (xid, id)
);
comment on table planledger.events is 'What was committed, one row for each write, without any text.';
comment on column planledger.events.xid is 'The transaction that wrote the row.';
comment on column planledger.events.id is 'Order within the task: the plan lock makes it the order of commits.';
comment on column planledger.events.task_id is 'The task; no reference, because the row outlives it.';
comment on column planledger.events.kind is 'What happened.';
comment on column planledger.events.plan_id is 'The plan concerned.';
comment on column planledger.events.revision_id is 'The revision written.';
comment on column planledger.events.revision_number is 'Its number.';
comment on column planledger.events.coalesced is 'Whether the write joined that revision rather than adding it.';
comment on column planledger.events.restored_from is 'The revision a restore or revert copied.';
comment on column planledger.events.created_at is 'When the row was written, which is before its commit.';
