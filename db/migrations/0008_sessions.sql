-- Up Migration

-- A session takes prompts one after another. Whether it takes one now says its state; what
-- it takes later waits in its queue.

create domain planledger.session_state as text
  constraint session_state_known check (value in
    ('CREATED', 'STARTING', 'RUNNING', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED', 'CANCELLED'));
comment on domain planledger.session_state is
  'Where a conversation stands: WAITING_FOR_INPUT takes a prompt; CREATED, STARTING and RUNNING take queued ones; COMPLETED, FAILED and CANCELLED take nothing more.';

create domain planledger.failure as text
  constraint failure_length check (char_length(value) between 1 and 1000);
comment on domain planledger.failure is 'What went wrong with an agent or a delivery, for people: 1 to 1,000 characters.';

create domain planledger.transport as text
  constraint transport_known check (value in ('acp', 'passthrough', 'webhook'));
comment on domain planledger.transport is
  'How a prompt reaches an agent: acp (Agent Client Protocol), passthrough (a terminal program), webhook (HTTP POST).';

alter table planledger.task_sessions drop constraint task_sessions_state_check;
alter table planledger.task_sessions
  alter column state drop default,
  alter column state type planledger.session_state,
  alter column state set default 'CREATED',
  drop column transport,
  add column transport planledger.transport,
  add column failure planledger.failure,
  add column turn_id uuid not null default gen_random_uuid(),
  add column cancel_turn_id uuid,
  add column auto_run boolean not null default true,
  add column queue_max planledger.ordinal not null default 10;
comment on column planledger.task_sessions.transport is 'How a prompt reaches the agent; null where a program of somebody''s own takes the receipts.';
comment on column planledger.task_sessions.failure is 'What went wrong with the agent last, for people; null while nothing has.';
comment on column planledger.task_sessions.turn_id is 'Names the present or last turn; new with every prompt that the session takes.';
comment on column planledger.task_sessions.cancel_turn_id is 'The turn that somebody asked to cancel.';
comment on column planledger.task_sessions.auto_run is 'Whether the head of the queue goes out by itself when the session takes a prompt.';
comment on column planledger.task_sessions.queue_max is 'Most entries that may wait in the queue.';

create type planledger.session as (
  id text,
  task_id text,
  name text,
  agent_name text,
  state text,
  accepts text,
  is_primary boolean,
  transport text,
  failure text,
  turn_id uuid,
  auto_run boolean,
  queue_max integer,
  queue_incarnation uuid,
  created_at timestamptz,
  updated_at timestamptz
);
comment on type planledger.session is
  'A session as callers see it. accepts: direct (takes a prompt now), queue (takes queued ones) or nothing (it has ended).';

alter table planledger.events
  add column session_id text,
  add column message_id uuid;
comment on column planledger.events.session_id is 'The session concerned.';
comment on column planledger.events.message_id is 'The message written.';

alter domain planledger.event_kind drop constraint event_kind_known;
alter domain planledger.event_kind add constraint event_kind_known check (value in (
  'plan.created', 'plan.updated', 'plan.deleted', 'plan.implementation_started', 'plan.comments_changed',
  'task.created', 'task.archived', 'task.deleted', 'session.changed'));
