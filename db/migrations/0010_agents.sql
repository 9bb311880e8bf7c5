-- Up Migration

-- The process of an agent belongs to one session, and which worker runs it is a lease: it
-- ends by itself when that worker dies, and no two workers run an agent for one session.

create table planledger.session_agents (
  task_id planledger.label not null,
  session_id planledger.label not null,
  holder planledger.label not null,
  lease_token uuid not null,
  lease_expires_at timestamptz not null,
  started_at timestamptz not null default clock_timestamp(),
  primary key (task_id, session_id),
  foreign key (task_id, session_id) references planledger.task_sessions (task_id, id) on delete cascade
);
create index session_agents_by_holder on planledger.session_agents (holder);
comment on table planledger.session_agents is 'Which worker runs the agent of which session.';
comment on column planledger.session_agents.task_id is 'The task.';
comment on column planledger.session_agents.session_id is 'The session.';
comment on column planledger.session_agents.holder is 'The worker; each of its processes has a name of its own.';
comment on column planledger.session_agents.lease_token is 'Who knows it speaks for the agent.';
comment on column planledger.session_agents.lease_expires_at is 'When the lease ends by itself, unless it is renewed.';
comment on column planledger.session_agents.started_at is 'When the worker took it.';

alter table planledger.task_sessions add column start_attempts planledger.size not null default 0;
comment on column planledger.task_sessions.start_attempts is 'How often its agent was tried to be started since it last was there.';
comment on column planledger.task_sessions.turn_id is
  'Names the present or last turn: the prompt it is about, whose id its message has too.';

alter table planledger.receipts
  add column dismissed_at timestamptz,
  add constraint only_what_came_to_nothing_is_dismissed check (dismissed_at is null or state in ('failed', 'cleared'));
comment on column planledger.receipts.dismissed_at is 'When a person said that nothing more is to be done about it.';

create domain planledger.message_kind as text
  constraint message_kind_known check (value in ('message', 'thought', 'tool', 'terminal', 'notice'));
comment on domain planledger.message_kind is
  'What is said: message (a prompt, an answer), thought, tool (what an agent does), terminal (what its program shows), or notice (what became of a prompt).';

alter table planledger.session_messages add column kind planledger.message_kind not null default 'message';
comment on column planledger.session_messages.kind is 'What is said.';

create type planledger.message as (
  id uuid,
  task_id text,
  session_id text,
  role text,
  kind text,
  content text,
  client_id text,
  comments jsonb,
  attachments jsonb,
  plan_mode boolean,
  author_name text,
  created_at timestamptz
);
comment on type planledger.message is
  'A row of a transcript: role is user, agent or system; comments are the id and version of each that a prompt carried, attachments the id, name, media_type and bytes of each file.';

create type planledger.receipt as (
  id uuid,
  task_id text,
  session_id text,
  client_id text,
  action text,
  state text,
  attempts integer,
  retryable boolean,
  failure text,
  lease_holder text,
  lease_expires_at timestamptz,
  not_before timestamptz,
  created_at timestamptz,
  attempted_at timestamptz,
  ended_at timestamptz,
  dismissed_at timestamptz
);
comment on type planledger.receipt is
  'How far an accepted prompt has come. retryable: it failed before it went out, and may be tried again. dismissed_at: a person has seen that it failed or was cleared.';
