-- Up Migration

-- A prompt that is accepted is a delivery: it has an id, which the message, the queue entry
-- and the receipt of it share. The receipt says how far it has come and is what workers
-- take leases on; the message is its row in the transcript, written when it is accepted or,
-- for one that waited in the queue, when it goes out. Deliveries stay as long as the task,
-- so that a repeat of their request is answered and never delivered again.

create domain planledger.prompt_text as text
  constraint prompt_text_length check (octet_length(value) <= 1048576);
comment on domain planledger.prompt_text is 'What an agent gets or says: at most 1,048,576 bytes.';

create domain planledger.message_role as text
  constraint message_role_known check (value in ('user', 'agent', 'system'));
comment on domain planledger.message_role is 'Who speaks: user (a prompt), agent, or system (what became of one).';

create domain planledger.delivery_action as text
  constraint delivery_action_known check (value in ('message', 'queue'));
comment on domain planledger.delivery_action is 'How a prompt was accepted: as a direct message, or into the queue.';

create domain planledger.receipt_state as text
  constraint receipt_state_known check (value in
    ('pending', 'reserved', 'attempted', 'acknowledged', 'cleared', 'failed'));
comment on domain planledger.receipt_state is
  'How far a delivery has come: pending, reserved by a worker, attempted (the agent may have it), and at last acknowledged, cleared (nobody knows) or failed.';

create table planledger.deliveries (
  task_id planledger.label not null,
  client_id planledger.label not null,
  id uuid not null default gen_random_uuid(),
  session_id planledger.label not null,
  action planledger.delivery_action not null,
  principal_id uuid not null,
  request_sha256 bytea not null,
  message_id uuid,
  joined_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, client_id),
  unique (task_id, id),
  foreign key (task_id, session_id) references planledger.task_sessions (task_id, id) on delete cascade
);
comment on table planledger.deliveries is 'Prompts that were accepted, for ever: what makes repeating a request harmless.';
comment on column planledger.deliveries.task_id is 'The task.';
comment on column planledger.deliveries.client_id is 'The client''s id of the request; messages and queue entries share one space for each task.';
comment on column planledger.deliveries.id is 'Of the delivery, its message, queue entry and receipt.';
comment on column planledger.deliveries.session_id is 'Where it goes, which a hook may have changed.';
comment on column planledger.deliveries.action is 'How it was accepted.';
comment on column planledger.deliveries.principal_id is 'Who asked.';
comment on column planledger.deliveries.request_sha256 is 'SHA-256 over everything that was asked for.';
comment on column planledger.deliveries.message_id is 'Its row in the transcript, which several may share; null until it goes out.';
comment on column planledger.deliveries.joined_id is 'The delivery whose entry of the queue its text was put behind; null where it has an entry or message of its own.';
comment on column planledger.deliveries.created_at is 'When it was accepted.';

create table planledger.receipts (
  task_id planledger.label not null,
  id uuid not null,
  session_id planledger.label not null,
  state planledger.receipt_state not null default 'pending',
  dispatch_id uuid,
  dispatch_place planledger.ordinal not null default 1,
  is_wanted boolean not null default false,
  attempts planledger.size not null default 0,
  not_before timestamptz not null default '-infinity',
  lease_token uuid,
  lease_holder planledger.label,
  lease_expires_at timestamptz,
  attempted_at timestamptz,
  ended_at timestamptz,
  failure planledger.failure,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id),
  foreign key (task_id, id) references planledger.deliveries (task_id, id) on delete cascade,
  constraint a_lease_where_one_is_held check (
    (state in ('reserved', 'attempted')) = (lease_token is not null)
    and (lease_token is null) = (lease_expires_at is null)),
  constraint what_goes_out_has_a_dispatch check (state not in ('reserved', 'attempted') or dispatch_id is not null),
  constraint an_attempt_is_never_taken_back check (
    (attempted_at is not null and state in ('attempted', 'acknowledged', 'cleared', 'failed'))
    or (attempted_at is null and state in ('pending', 'reserved', 'failed'))),
  constraint ended_when_it_ended check ((state in ('acknowledged', 'cleared', 'failed')) = (ended_at is not null))
);
create index receipts_under_way on planledger.receipts (task_id, session_id)
  where state in ('pending', 'reserved', 'attempted');
create unique index receipts_by_lease on planledger.receipts (task_id, lease_token, dispatch_place)
  where lease_token is not null;
comment on table planledger.receipts is 'That prompts were accepted for delivery, and how far each has come.';
comment on column planledger.receipts.task_id is 'The task.';
comment on column planledger.receipts.id is 'Of the delivery.';
comment on column planledger.receipts.session_id is 'Where it goes.';
comment on column planledger.receipts.state is 'How far it has come.';
comment on column planledger.receipts.dispatch_id is 'The prompt it goes out in, alone or with others; null while it waits in the queue.';
comment on column planledger.receipts.dispatch_place is 'Its place in that prompt, from 1.';
comment on column planledger.receipts.is_wanted is 'Whether somebody asked for it to go out next, though the queue does not run by itself.';
comment on column planledger.receipts.attempts is 'How often a worker has reserved it.';
comment on column planledger.receipts.not_before is 'When it may be tried again.';
comment on column planledger.receipts.lease_token is 'Who knows it may act on the receipt; null while nobody may.';
comment on column planledger.receipts.lease_holder is 'The worker that holds the lease, for people.';
comment on column planledger.receipts.lease_expires_at is 'When the lease ends by itself.';
comment on column planledger.receipts.attempted_at is 'When it was about to be sent; it is never sent again after that.';
comment on column planledger.receipts.ended_at is 'When it was acknowledged, cleared or failed.';
comment on column planledger.receipts.failure is 'What went wrong last, for people.';
comment on column planledger.receipts.created_at is 'When the prompt was accepted.';

create table planledger.queue_entries (
  task_id planledger.label not null,
  id uuid not null,
  session_id planledger.label not null,
  place planledger.ordinal not null,
  content planledger.prompt_text not null,
  comments jsonb not null default '[]',
  plan_mode boolean not null default false,
  author_id uuid not null,
  author_kind planledger.author_kind not null,
  author_name planledger.label not null,
  updated_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id),
  foreign key (task_id, id) references planledger.receipts (task_id, id) on delete cascade
);
create index queue_entries_by_place on planledger.queue_entries (task_id, session_id, place);
comment on table planledger.queue_entries is 'Prompts that wait for their session; a row goes when its prompt goes out.';
comment on column planledger.queue_entries.task_id is 'The task.';
comment on column planledger.queue_entries.id is 'Of the delivery.';
comment on column planledger.queue_entries.session_id is 'The session whose queue it is in.';
comment on column planledger.queue_entries.place is 'Its place in the queue; lower ones go first.';
comment on column planledger.queue_entries.content is 'What the agent will get.';
comment on column planledger.queue_entries.comments is 'The comments it carries: id and version of each.';
comment on column planledger.queue_entries.plan_mode is 'Whether the agent is to plan and not to act.';
comment on column planledger.queue_entries.author_id is 'The principal who asked.';
comment on column planledger.queue_entries.author_kind is 'How the transcript names them.';
comment on column planledger.queue_entries.author_name is 'Their name.';
comment on column planledger.queue_entries.updated_at is 'When it was last edited.';

create table planledger.session_messages (
  task_id planledger.label not null,
  id uuid not null default gen_random_uuid(),
  session_id planledger.label not null,
  position bigint generated always as identity,
  role planledger.message_role not null,
  content planledger.prompt_text not null,
  client_id planledger.label,
  comments jsonb not null default '[]',
  plan_mode boolean not null default false,
  author_id uuid,
  author_name planledger.label not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id),
  foreign key (task_id, session_id) references planledger.task_sessions (task_id, id) on delete cascade
);
create index session_messages_by_position on planledger.session_messages (task_id, session_id, position);
comment on table planledger.session_messages is 'The transcript of each session.';
comment on column planledger.session_messages.task_id is 'The task.';
comment on column planledger.session_messages.id is 'Of the delivery, or of the prompt that several went out in; generated for what an agent says.';
comment on column planledger.session_messages.session_id is 'The session.';
comment on column planledger.session_messages.position is 'Order within the session.';
comment on column planledger.session_messages.role is 'Who speaks.';
comment on column planledger.session_messages.content is 'The text, as the agent got or gave it.';
comment on column planledger.session_messages.client_id is 'The client''s id of the request; null for what no single request said.';
comment on column planledger.session_messages.comments is 'The comments it carried: id and version of each.';
comment on column planledger.session_messages.plan_mode is 'Whether the agent was to plan and not to act.';
comment on column planledger.session_messages.author_id is 'The principal who asked; null for an agent.';
comment on column planledger.session_messages.author_name is 'Their name.';
comment on column planledger.session_messages.created_at is 'When it was said.';

create table planledger.attachments (
  task_id planledger.label not null references planledger.tasks (id) on delete cascade,
  id uuid not null default gen_random_uuid(),
  name planledger.label not null,
  media_type planledger.label not null,
  content bytea not null constraint attachment_length check (octet_length(content) between 1 and 10485760),
  principal_id uuid not null,
  delivery_id uuid,
  delivery_place planledger.ordinal,
  created_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id),
  foreign key (task_id, delivery_id) references planledger.deliveries (task_id, id) on delete cascade
);
create index attachments_by_delivery on planledger.attachments (task_id, delivery_id);
comment on table planledger.attachments is 'Files that go out with a prompt, or were staged for one.';
comment on column planledger.attachments.task_id is 'The task.';
comment on column planledger.attachments.id is 'Names the file in a request.';
comment on column planledger.attachments.name is 'The file''s name, as its sender gave it.';
comment on column planledger.attachments.media_type is 'What it is, as its sender said.';
comment on column planledger.attachments.content is 'The file: 1 byte to 10 MiB.';
comment on column planledger.attachments.principal_id is 'Who staged it.';
comment on column planledger.attachments.delivery_id is 'The delivery that has it; null while it is staged, for a day at most.';
comment on column planledger.attachments.delivery_place is 'Its place among the files of that delivery.';
comment on column planledger.attachments.created_at is 'When it was staged.';

create type planledger.comment_references as (
  ids uuid[],
  versions integer[]
);
comment on type planledger.comment_references is 'Comments as a request names them, in its order.';

create type planledger.delivery as (
  id uuid,
  task_id text,
  session_id text,
  action text,
  client_id text,
  state text,
  content text,
  comments jsonb,
  replayed boolean,
  created_at timestamptz
);
comment on type planledger.delivery is
  'An accepted prompt: state is that of its receipt (acknowledged once that is pruned), or removed; content is what the agent gets or got.';

create type planledger.queue as (
  task_id text,
  session_id text,
  queue_incarnation uuid,
  entries jsonb,
  count integer,
  max integer,
  auto_run boolean
);
comment on type planledger.queue is
  'What waits in the queue of a session: entries, in the order in which they go out, with id, client_queue_id, content, comments, plan_mode, author_kind, author_name, created_at and updated_at; how many there are, how many there may be, and whether they go out by themselves.';

alter domain planledger.event_kind drop constraint event_kind_known;
alter domain planledger.event_kind add constraint event_kind_known check (value in (
  'plan.created', 'plan.updated', 'plan.deleted', 'plan.implementation_started', 'plan.comments_changed',
  'task.created', 'task.archived', 'task.deleted', 'session.changed', 'message.added', 'queue.changed'));
