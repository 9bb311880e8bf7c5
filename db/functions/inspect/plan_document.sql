create or replace view planledger.plan_document as
select
  p.task_id::text as task_id,
  p.id as plan_id,
  r.title::text as title,
  s.body || r.tail as content,
  r.write_version as version,
  r.revision_number::integer as revision_number,
  r.content_bytes::integer as content_bytes,
  r.content_chars::integer as content_chars,
  p.created_at,
  r.updated_at,
  p.implementation_started_at
from planledger.plans p
  join planledger.plan_revisions r on r.task_id = p.task_id and r.revision_number = p.revision_number
  cross join lateral (
    select string_agg(o.body, E'\n\n') as body
    from (
      select g.body from planledger.plan_segments g
      where g.task_id = p.task_id and g.seq between r.first_segment and r.last_segment
      order by g.seq
    ) o
  ) s;

comment on view planledger.plan_document is 'The current plan of every task, title and text, for people with psql.';
comment on column planledger.plan_document.task_id is 'The task.';
comment on column planledger.plan_document.plan_id is 'The plan; another after a deletion.';
comment on column planledger.plan_document.title is 'Its title.';
comment on column planledger.plan_document.content is 'Its whole text.';
comment on column planledger.plan_document.version is 'What a write must send as p_expected_version.';
comment on column planledger.plan_document.revision_number is 'The revision that holds this state.';
comment on column planledger.plan_document.content_bytes is 'UTF-8 bytes of the text.';
comment on column planledger.plan_document.content_chars is 'Code points of the text.';
comment on column planledger.plan_document.created_at is 'When the plan was created.';
comment on column planledger.plan_document.updated_at is 'When it was last written.';
comment on column planledger.plan_document.implementation_started_at is 'When implementation started; null before.';
