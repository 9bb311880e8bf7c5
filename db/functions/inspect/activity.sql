create or replace view planledger.activity as
select
  e.created_at,
  e.task_id,
  e.kind::text as kind,
  e.revision_number,
  e.coalesced,
  r.author_kind::text as author_kind,
  r.author_name::text as author_name,
  r.content_bytes::integer as content_bytes
from planledger.events e
  left join planledger.plan_revisions r on r.task_id = e.task_id and r.id = e.revision_id;

comment on view planledger.activity is 'What was written lately, without text: order by created_at desc limit 20.';
comment on column planledger.activity.created_at is 'When it was written.';
comment on column planledger.activity.task_id is 'The task.';
comment on column planledger.activity.kind is 'What happened.';
comment on column planledger.activity.revision_number is 'The revision written.';
comment on column planledger.activity.coalesced is 'Whether the write joined that revision.';
comment on column planledger.activity.author_kind is 'Who wrote that revision: agent or user.';
comment on column planledger.activity.author_name is 'Their display name.';
comment on column planledger.activity.content_bytes is 'The revision''s present size.';
