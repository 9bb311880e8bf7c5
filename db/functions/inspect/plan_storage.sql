create or replace view planledger.plan_storage as
select
  t.id::text as task_id,
  t.workspace_id::text as workspace_id,
  r.revisions,
  r.content_bytes,
  g.segments,
  g.stored_bytes
from planledger.tasks t
  cross join lateral (
    select count(*) as revisions, sum(o.content_bytes::bigint) as content_bytes
    from planledger.plan_revisions o where o.task_id = t.id
  ) r
  cross join lateral (
    select count(*) as segments, coalesce(sum(pg_column_size(o.body)), 0) as stored_bytes
    from planledger.plan_segments o where o.task_id = t.id
  ) g
where r.revisions > 0;

comment on view planledger.plan_storage is 'What the history of each task takes.';
comment on column planledger.plan_storage.task_id is 'The task.';
comment on column planledger.plan_storage.workspace_id is 'Its workspace.';
comment on column planledger.plan_storage.revisions is 'How many revisions it has.';
comment on column planledger.plan_storage.content_bytes is 'Bytes of all their texts as read.';
comment on column planledger.plan_storage.segments is 'Stored pieces.';
comment on column planledger.plan_storage.stored_bytes is 'Bytes those take on disk, compressed; revisions share them.';
