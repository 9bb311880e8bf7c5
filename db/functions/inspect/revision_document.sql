create or replace view planledger.revision_document as
select
  r.task_id::text as task_id,
  r.revision_number::integer as revision_number,
  r.id as revision_id,
  r.title::text as title,
  s.body || r.tail as content,
  r.author_kind::text as author_kind,
  r.author_name::text as author_name,
  r.restored_from,
  r.content_bytes::integer as content_bytes,
  s.segments,
  r.created_at,
  r.updated_at
from planledger.plan_revisions r
  cross join lateral (
    select string_agg(o.body, E'\n\n') as body, count(*) as segments
    from (
      select g.body from planledger.plan_segments g
      where g.task_id = r.task_id and g.seq between r.first_segment and r.last_segment
      order by g.seq
    ) o
  ) s;

comment on view planledger.revision_document is 'Every revision of every task, title and text, for people with psql. Always filter by task_id.';
comment on column planledger.revision_document.task_id is 'The task.';
comment on column planledger.revision_document.revision_number is 'Number within the task.';
comment on column planledger.revision_document.revision_id is 'What a restore names.';
comment on column planledger.revision_document.title is 'The plan''s title in this revision.';
comment on column planledger.revision_document.content is 'The whole text in this revision.';
comment on column planledger.revision_document.author_kind is 'agent or user.';
comment on column planledger.revision_document.author_name is 'The author''s display name at the time.';
comment on column planledger.revision_document.restored_from is 'The revision a restore or revert copied.';
comment on column planledger.revision_document.content_bytes is 'UTF-8 bytes of the text.';
comment on column planledger.revision_document.segments is 'Stored pieces the text is joined from.';
comment on column planledger.revision_document.created_at is 'When the revision was added.';
comment on column planledger.revision_document.updated_at is 'When a write last joined it.';
