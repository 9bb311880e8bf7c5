-- Up Migration

-- Feedback on the current plan that waits to be delivered to an agent. A comment belongs
-- to a plan and goes with it; its id stays used as long as the task exists, so that a late
-- retry cannot bring back what was deleted or delivered.

create domain planledger.comment_body as text
  constraint comment_body_length check (octet_length(value) between 1 and 65536);
comment on domain planledger.comment_body is 'What a comment says: 1 to 65,536 bytes.';

create domain planledger.comment_selection as text
  constraint comment_selection_length check (octet_length(value) between 1 and 262144);
comment on domain planledger.comment_selection is 'The text a comment is about: 1 to 262,144 bytes.';

create table planledger.plan_comment_heads (
  task_id planledger.label primary key,
  plan_id uuid not null,
  revision planledger.ordinal not null,
  foreign key (task_id, plan_id) references planledger.plans (task_id, id) on delete cascade
);
comment on table planledger.plan_comment_heads is 'How often the comments of a plan have changed. A row of its own, so that comments and plan writes never wait for one row; none means never.';
comment on column planledger.plan_comment_heads.task_id is 'The task.';
comment on column planledger.plan_comment_heads.plan_id is 'The plan; a plan created again begins anew.';
comment on column planledger.plan_comment_heads.revision is 'Rises by one with every committed change of the plan''s comments.';

create table planledger.plan_comment_ids (
  task_id planledger.label not null references planledger.tasks (id) on delete cascade,
  id uuid not null,
  primary key (task_id, id)
);
comment on table planledger.plan_comment_ids is 'Every comment id that was ever used on a task; it stays when the comment is deleted or delivered.';
comment on column planledger.plan_comment_ids.task_id is 'The task.';
comment on column planledger.plan_comment_ids.id is 'The id its creator chose.';

create table planledger.plan_comments (
  task_id planledger.label not null,
  id uuid not null,
  plan_id uuid not null,
  body planledger.comment_body not null,
  selected_text planledger.comment_selection not null,
  anchor_from planledger.size not null,
  anchor_to planledger.size not null,
  version planledger.ordinal not null default 1,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (task_id, id),
  foreign key (task_id, id) references planledger.plan_comment_ids (task_id, id) on delete cascade,
  foreign key (task_id, plan_id) references planledger.plans (task_id, id) on delete cascade
);
comment on table planledger.plan_comments is 'Pending comments: those that no delivery has consumed yet.';
comment on column planledger.plan_comments.task_id is 'The task.';
comment on column planledger.plan_comments.id is 'Chosen by its creator; unique within the task, for ever.';
comment on column planledger.plan_comments.plan_id is 'The plan it is about; it goes with that plan.';
comment on column planledger.plan_comments.body is 'What it says.';
comment on column planledger.plan_comments.selected_text is 'The text it is about, as it was.';
comment on column planledger.plan_comments.anchor_from is 'Where the selection began: a Tiptap position at creation.';
comment on column planledger.plan_comments.anchor_to is 'Where it ended; not before anchor_from.';
comment on column planledger.plan_comments.version is '1 when created; one more with every edit.';
comment on column planledger.plan_comments.created_at is 'When it was created.';
comment on column planledger.plan_comments.updated_at is 'When it was last edited.';

create type planledger.comment_snapshot as (
  task_id text,
  plan_id uuid,
  revision integer,
  comments jsonb
);
comment on type planledger.comment_snapshot is
  'All pending comments of a task in one committed state: plan_id and revision (null and 0 without a plan) and comments, an array of objects (id, task_id, plan_id, body, selected_text, anchor_from, anchor_to, version, created_at, updated_at) by creation time and id.';

alter domain planledger.event_kind drop constraint event_kind_known;
alter domain planledger.event_kind add constraint event_kind_known check (value in (
  'plan.created', 'plan.updated', 'plan.deleted', 'plan.implementation_started', 'plan.comments_changed',
  'task.created', 'task.archived', 'task.deleted'));
