-- Up Migration

-- Events are pruned by what a snapshot saw and never by age: a row may be old when its
-- transaction commits.

create table planledger.event_snapshots (
  taken_at timestamptz primary key default clock_timestamp(),
  snapshot pg_snapshot not null,
  pruned_at timestamptz
);
comment on table planledger.event_snapshots is 'Moments to which events may be pruned later; the one to which they were pruned last tells a reader whose cursor is older to begin anew.';
comment on column planledger.event_snapshots.taken_at is 'When the snapshot was stored.';
comment on column planledger.event_snapshots.snapshot is 'Which transactions were committed then.';
comment on column planledger.event_snapshots.pruned_at is 'When the events it saw were deleted; null until then.';
