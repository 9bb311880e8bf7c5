create or replace view planledger.pending_comments as
select
  c.task_id::text as task_id,
  c.plan_id,
  h.revision::integer as comments_revision,
  c.id,
  c.version::integer as version,
  c.body::text as body,
  c.selected_text::text as selected_text,
  c.anchor_from::integer as anchor_from,
  c.anchor_to::integer as anchor_to,
  c.created_at,
  c.updated_at
from planledger.plan_comments c
  join planledger.plan_comment_heads h on h.task_id = c.task_id;

comment on view planledger.pending_comments is 'Comments that no delivery has consumed yet: where task_id = ''…'' order by created_at, id.';
comment on column planledger.pending_comments.task_id is 'The task.';
comment on column planledger.pending_comments.plan_id is 'The plan it is about.';
comment on column planledger.pending_comments.comments_revision is 'How often the comments of that plan have changed.';
comment on column planledger.pending_comments.id is 'Its id, chosen by its creator.';
comment on column planledger.pending_comments.version is '1 when created; one more with every edit.';
comment on column planledger.pending_comments.body is 'What it says.';
comment on column planledger.pending_comments.selected_text is 'The text it is about, as it was.';
comment on column planledger.pending_comments.anchor_from is 'Where the selection began.';
comment on column planledger.pending_comments.anchor_to is 'Where it ended.';
comment on column planledger.pending_comments.created_at is 'When it was created.';
comment on column planledger.pending_comments.updated_at is 'When it was last edited.';
