-- Up Migration

-- A plan is a base document and the fragments appended to it; its text is their join:
--
--   text of a revision = bodies of segments first..last joined by two newlines, then its tail
--
-- That is the composition rule of an append, so an append writes one small segment,
-- whatever the size of the plan. HEAD has no text, version or time of its own: it points
-- at the latest revision, so HEAD and history cannot disagree. Every key begins with
-- task_id, and no column that an append changes is indexed, so its updates stay on the
-- page (HOT).

--
-- Two things here are done otherwise than usual, because they are measured on every
-- append. A CHECK of a table is parsed anew for each statement (150 µs for the eight that
-- plan_revisions would need), a domain once for each connection: so single columns have
-- domains. A foreign key costs a query for each row: so plan_segments, the one table every
-- append inserts into, has none, and a trigger empties it with its task.

create domain planledger.ordinal as integer
  constraint ordinal_from_1 check (value >= 1);
comment on domain planledger.ordinal is 'A position or number that counts from 1.';

create domain planledger.size as integer
  constraint size_from_0 check (value >= 0);
comment on domain planledger.size is 'A number of bytes or characters.';

create domain planledger.removed_chars as integer
  constraint removed_chars_within_budget check (value between 0 and 512);
comment on domain planledger.removed_chars is 'Characters that merged writes may remove in all: 0 to 512, so that merging never eats work.';

create domain planledger.author_kind as text
  constraint author_kind_known check (value in ('agent', 'user'));
comment on domain planledger.author_kind is 'How history names an author: agent or user; a service writes as an agent.';

create table planledger.plan_segments (
  task_id planledger.label not null,
  seq planledger.ordinal not null,
  body text not null,
  primary key (task_id, seq)
);
comment on table planledger.plan_segments is 'The stored pieces of plan text: bases and the fragments appended to them. Revisions share them.';
comment on column planledger.plan_segments.task_id is 'The task the text belongs to; a trigger of tasks empties it with the task.';
comment on column planledger.plan_segments.seq is 'Position; rises with every base and fragment of the task.';
comment on column planledger.plan_segments.body is 'Text that does not end in white space; empty only where a revision''s whole text is empty or white space (its tail).';

create function planledger.segments_go_with_task() returns trigger language plpgsql
  set search_path = planledger, pg_temp as $$ begin raise exception 'db/functions is not applied'; end $$;
create trigger segments_go_with_task after delete on planledger.tasks
  for each row execute function planledger.segments_go_with_task();
comment on trigger segments_go_with_task on planledger.tasks is 'Deletes the task''s plan_segments.';

create table planledger.plan_revisions (
  task_id planledger.label not null references planledger.tasks (id) on delete cascade,
  revision_number planledger.ordinal not null,
  id uuid not null default gen_random_uuid(),
  write_version uuid not null default gen_random_uuid(),
  title planledger.label not null,
  first_segment planledger.ordinal not null,
  last_segment planledger.ordinal not null,
  tail text not null,
  content_bytes planledger.size not null,
  content_chars planledger.size not null,
  author_id uuid not null,
  author_kind planledger.author_kind not null,
  author_name planledger.label not null,
  restored_from uuid,
  mergeable boolean not null,
  removed_chars planledger.removed_chars not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (task_id, revision_number),
  unique (task_id, id),
  foreign key (task_id, restored_from) references planledger.plan_revisions (task_id, id)
) with (fillfactor = 70);
comment on table planledger.plan_revisions is 'The history of each task''s plan. The highest-numbered revision is what HEAD points at.';
comment on column planledger.plan_revisions.task_id is 'The task.';
comment on column planledger.plan_revisions.revision_number is '1, 2, 3 … per task, gapless, in commit order.';
comment on column planledger.plan_revisions.id is 'Names the revision; unique within the task.';
comment on column planledger.plan_revisions.write_version is 'The opaque version of the state this revision holds; fresh with every write.';
comment on column planledger.plan_revisions.title is 'The plan''s title in this revision.';
comment on column planledger.plan_revisions.first_segment is 'First segment of the text (its base).';
comment on column planledger.plan_revisions.last_segment is 'Last segment of the text.';
comment on column planledger.plan_revisions.tail is 'The white space that ends the text; the whole text where it is only white space.';
comment on column planledger.plan_revisions.content_bytes is 'UTF-8 bytes of the whole text.';
comment on column planledger.plan_revisions.content_chars is 'Unicode code points of the whole text.';
comment on column planledger.plan_revisions.author_id is 'The principal who wrote it; kept when the principal is gone.';
comment on column planledger.plan_revisions.author_kind is 'agent or user; a service writes as an agent.';
comment on column planledger.plan_revisions.author_name is 'The author''s display name at the time.';
comment on column planledger.plan_revisions.restored_from is 'The revision a restore or revert copied.';
comment on column planledger.plan_revisions.mergeable is 'Whether later writes may still join this revision; false for a restore, a revert and an acknowledged reduction.';
comment on column planledger.plan_revisions.removed_chars is 'Characters that writes merged into this revision have removed; at most 512, so that merging never eats work.';
comment on column planledger.plan_revisions.created_at is 'When the revision was added.';
comment on column planledger.plan_revisions.updated_at is 'When a write last joined it.';

create table planledger.plans (
  task_id planledger.label primary key,
  id uuid not null default gen_random_uuid(),
  revision_number integer not null,
  created_by planledger.author_kind not null,
  created_at timestamptz not null,
  implementation_started_at timestamptz,
  implementation_started_session_id planledger.label,
  implementation_started_by planledger.author_kind,
  implementation_started_principal_id uuid,
  unique (task_id, id),
  foreign key (task_id, revision_number)
    references planledger.plan_revisions (task_id, revision_number) on delete cascade,
  foreign key (task_id, implementation_started_session_id)
    references planledger.task_sessions (task_id, id) on delete set null (implementation_started_session_id),
  constraint marker_is_whole check (
    num_nulls(implementation_started_at, implementation_started_by, implementation_started_principal_id) in (0, 3)
    and (implementation_started_session_id is null or implementation_started_at is not null))
) with (fillfactor = 70);
comment on table planledger.plans is 'HEAD: the current plan of each task. It has no text of its own and points at the latest revision.';
comment on column planledger.plans.task_id is 'The task.';
comment on column planledger.plans.id is 'Names this plan; a plan created again after a deletion has another.';
comment on column planledger.plans.revision_number is 'The revision that holds the current text, title and version.';
comment on column planledger.plans.created_by is 'agent or user: who created the plan.';
comment on column planledger.plans.created_at is 'When the plan was created.';
comment on column planledger.plans.implementation_started_at is 'When implementation started; set once.';
comment on column planledger.plans.implementation_started_session_id is 'The session it started in; null once that session is gone.';
comment on column planledger.plans.implementation_started_by is 'agent or user: who said so.';
comment on column planledger.plans.implementation_started_principal_id is 'The principal who said so.';

create table planledger.plan_requests (
  task_id planledger.label not null references planledger.tasks (id) on delete cascade,
  request_id planledger.label not null,
  principal_id uuid not null,
  operation text not null,
  arguments_sha256 bytea not null check (octet_length(arguments_sha256) = 32),
  acknowledgement jsonb not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, request_id)
);
comment on table planledger.plan_requests is 'Acknowledgements of writes that carried a request_id, so that a repeat is answered and not written. Kept 24 hours at least.';
comment on column planledger.plan_requests.task_id is 'The task.';
comment on column planledger.plan_requests.request_id is 'The caller''s id; unique per task.';
comment on column planledger.plan_requests.principal_id is 'Who made the request.';
comment on column planledger.plan_requests.operation is 'Which operation it was.';
comment on column planledger.plan_requests.arguments_sha256 is 'Digest of the arguments; a repeat must have the same.';
comment on column planledger.plan_requests.acknowledgement is 'What was answered: names, sizes and the version, never text.';
comment on column planledger.plan_requests.created_at is 'When the write was made.';

create type planledger.plan_head as (
  plan_id uuid,
  revision_number integer,
  revision_id uuid,
  version uuid,
  title text,
  first_segment integer,
  last_segment integer,
  tail text,
  content_bytes integer,
  content_chars integer,
  author_id uuid,
  mergeable boolean,
  removed_chars integer,
  created_at timestamptz,
  updated_at timestamptz,
  coalesce_window interval
);
comment on type planledger.plan_head is 'The current state of a plan as a write reads it, once, under the plan lock; all null where there is no plan.';

create type planledger.plan_write_ack as (
  task_id text,
  plan_id uuid,
  outcome text,
  title text,
  content_bytes integer,
  content_chars integer,
  revision_number integer,
  revision_id uuid,
  version uuid,
  coalesced boolean,
  replayed boolean
);
comment on type planledger.plan_write_ack is
  'What a plan write answers: the state it committed. outcome is created, replaced, appended, edited, restored, reverted, already_current or deleted (then remembered with task_id and plan_id only). coalesced: it joined the latest revision. replayed: the answer of an earlier call with this request_id.';
