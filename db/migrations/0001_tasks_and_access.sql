-- Up Migration

-- Who may call, and the tasks they may touch. Everything is owned by a role that cannot
-- log in, and nothing is executable by PUBLIC unless db/grants.sql says so.

alter default privileges for role planledger_owner revoke execute on functions from public;
alter default privileges for role planledger_owner revoke usage on types from public;
comment on schema planledger is
  'Task plans for coding agents. Call the functions; read the views; the tables are private.';
grant usage on schema planledger to planledger_app, planledger_reader;

-- A domain reports only its own name when it refuses a value; a table constraint would
-- print the whole row into the server log.
create domain planledger.label as text
  constraint label_length check (char_length(value) between 1 and 200);
comment on domain planledger.label is
  'A title, display name or caller-chosen id: 1 to 200 characters.';

create table planledger.workspaces (
  id planledger.label primary key default gen_random_uuid()::text,
  name planledger.label not null,
  created_at timestamptz not null default clock_timestamp()
);
comment on table planledger.workspaces is 'The outermost boundary of reach: users and services belong to exactly one.';
comment on column planledger.workspaces.id is 'Chosen by the caller or generated; unique in the database.';
comment on column planledger.workspaces.name is 'For people.';
comment on column planledger.workspaces.created_at is 'When the workspace was created.';

create table planledger.tasks (
  id planledger.label primary key default gen_random_uuid()::text,
  workspace_id planledger.label not null references planledger.workspaces (id) on delete cascade,
  parent_task_id planledger.label,
  root_task_id planledger.label not null,
  title planledger.label not null,
  created_at timestamptz not null default clock_timestamp(),
  archived_at timestamptz,
  unique (workspace_id, id),
  unique (id, root_task_id),
  foreign key (workspace_id, parent_task_id) references planledger.tasks (workspace_id, id),
  foreign key (workspace_id, root_task_id) references planledger.tasks (workspace_id, id)
);
create index tasks_by_parent on planledger.tasks (workspace_id, parent_task_id);
create index tasks_by_root on planledger.tasks (workspace_id, root_task_id);
comment on table planledger.tasks is 'Units of work. Tasks form trees inside a workspace; each owns at most one current plan.';
comment on column planledger.tasks.id is 'Chosen by the caller or generated; unique in the database.';
comment on column planledger.tasks.workspace_id is 'The workspace, the same as the parent''s.';
comment on column planledger.tasks.parent_task_id is 'The task above this one; null for a root. Never changes.';
comment on column planledger.tasks.root_task_id is 'The top of this task''s tree, kept by a trigger so that an agent''s reach is one comparison.';
comment on column planledger.tasks.title is 'For people.';
comment on column planledger.tasks.created_at is 'When the task was created.';
comment on column planledger.tasks.archived_at is 'When the task was archived; null while it is active.';

create table planledger.task_sessions (
  task_id planledger.label not null references planledger.tasks (id) on delete cascade,
  id planledger.label not null default gen_random_uuid()::text,
  name planledger.label not null,
  agent_name planledger.label not null,
  state text not null default 'CREATED' check (state in
    ('CREATED', 'STARTING', 'RUNNING', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED', 'CANCELLED')),
  is_primary boolean not null default false,
  transport jsonb not null default '{}',
  queue_incarnation uuid not null default gen_random_uuid(),
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  primary key (task_id, id)
);
create unique index task_sessions_one_primary on planledger.task_sessions (task_id) where is_primary;
comment on table planledger.task_sessions is 'Agent conversations on a task.';
comment on column planledger.task_sessions.task_id is 'The task the conversation is about.';
comment on column planledger.task_sessions.id is 'Chosen by the caller or generated; unique within the task.';
comment on column planledger.task_sessions.name is 'For people.';
comment on column planledger.task_sessions.agent_name is 'The agent program taking part.';
comment on column planledger.task_sessions.state is 'Where the conversation stands.';
comment on column planledger.task_sessions.is_primary is 'Whether this is the task''s primary session; one at most.';
comment on column planledger.task_sessions.transport is 'How a prompt reaches the agent.';
comment on column planledger.task_sessions.queue_incarnation is 'New whenever the session''s queue is emptied or rebuilt.';
comment on column planledger.task_sessions.created_at is 'When the session was created.';
comment on column planledger.task_sessions.updated_at is 'When the session last changed.';

create table planledger.principals (
  id uuid primary key default gen_random_uuid(),
  workspace_id planledger.label not null references planledger.workspaces (id) on delete cascade,
  kind text not null check (kind in ('user', 'agent', 'service')),
  display_name planledger.label,
  scopes text[] not null,
  session_task_id planledger.label,
  session_id planledger.label,
  root_task_id planledger.label,
  created_at timestamptz not null default clock_timestamp(),
  constraint scopes_known check (scopes <@ array['plan:read', 'plan:write', 'task:read', 'task:write']),
  constraint who_writes_may_read check (
    (scopes @> array['plan:read'] or not scopes @> array['plan:write'])
    and (scopes @> array['task:read'] or not scopes @> array['task:write'])),
  constraint agents_have_a_session check (
    (kind = 'agent') = (session_id is not null) and (kind = 'agent') = (root_task_id is not null)),
  foreign key (session_task_id, session_id)
    references planledger.task_sessions (task_id, id) match full on delete cascade,
  foreign key (workspace_id, session_task_id) references planledger.tasks (workspace_id, id) on delete cascade,
  foreign key (session_task_id, root_task_id) references planledger.tasks (id, root_task_id) on delete cascade
);
create index principals_by_session on planledger.principals (session_task_id, session_id);
create index principals_by_workspace on planledger.principals (workspace_id, id);
comment on table planledger.principals is 'Who calls. Reach and scopes belong to the principal; a token that may do less has a principal of its own.';
comment on column planledger.principals.id is 'Passed as p_principal to every function.';
comment on column planledger.principals.workspace_id is 'A user or service reaches the tasks of this workspace.';
comment on column planledger.principals.kind is 'user, agent (bound to a session) or service (writes as an agent).';
comment on column planledger.principals.display_name is 'The author name in history; null falls back to Agent or User.';
comment on column planledger.principals.scopes is 'What the principal may do: plan:read, plan:write, task:read, task:write. Writing includes reading.';
comment on column planledger.principals.session_task_id is 'The task of an agent''s session.';
comment on column planledger.principals.session_id is 'An agent''s session.';
comment on column planledger.principals.root_task_id is 'The top of that task''s tree, which is the agent''s reach. Tasks never move.';
comment on column planledger.principals.created_at is 'When the principal was created.';

create table planledger.access_tokens (
  id uuid primary key default gen_random_uuid(),
  principal_id uuid not null references planledger.principals (id) on delete cascade,
  token_sha256 bytea not null unique check (octet_length(token_sha256) = 32),
  name planledger.label not null,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create index access_tokens_by_principal on planledger.access_tokens (principal_id, id);
comment on table planledger.access_tokens is 'Bearer tokens. Only the SHA-256 of a token is kept.';
comment on column planledger.access_tokens.id is 'Names the token in lists and for revocation; not a secret.';
comment on column planledger.access_tokens.principal_id is 'Who a bearer of the token is.';
comment on column planledger.access_tokens.token_sha256 is 'SHA-256 of the token text.';
comment on column planledger.access_tokens.name is 'For people.';
comment on column planledger.access_tokens.created_at is 'When the token was created.';
comment on column planledger.access_tokens.expires_at is 'When the token stops working; null for never.';
comment on column planledger.access_tokens.revoked_at is 'When the token was revoked; null while it works.';

create table planledger.installed (
  singleton boolean primary key default true check (singleton),
  program_version text not null,
  functions_sha256 text not null
);
comment on table planledger.installed is 'One row: which db/functions were applied last.';
comment on column planledger.installed.singleton is 'Always true: there is one row.';
comment on column planledger.installed.program_version is 'Version of the program that applied them.';
comment on column planledger.installed.functions_sha256 is 'SHA-256 over the files of db/functions and db/grants.sql.';

create table planledger.settings (
  singleton boolean primary key default true check (singleton),
  coalesce_window interval not null default interval '5 minutes'
    check (coalesce_window <= interval '1 year'),
  lock_wait interval not null default interval '15 seconds'
    check (lock_wait between interval '1 millisecond' and interval '10 minutes')
);
insert into planledger.settings default values;
comment on table planledger.settings is 'One row, changed through settings_change, so that every process agrees.';
comment on column planledger.settings.singleton is 'Always true: there is one row.';
comment on column planledger.settings.coalesce_window is 'How long after its last update a revision still takes further writes of its author; zero or less: never; at most 1 year.';
comment on column planledger.settings.lock_wait is 'How long a call waits for a lock before plan_busy; 1 ms to 10 minutes.';

create type planledger.caller as (
  principal_id uuid,
  author_kind text,
  author_name text,
  guarded boolean
);
comment on type planledger.caller is
  'An admitted caller: who, how history names them, and whether the agent rules (version required, truncation guard) apply.';

-- Triggers call functions of db/functions; these stand in until those are applied.
create function planledger.task_place() returns trigger language plpgsql
  set search_path = planledger, pg_temp as $$ begin raise exception 'db/functions is not applied'; end $$;
create function planledger.settings_keep_row() returns trigger language plpgsql
  set search_path = planledger, pg_temp as $$ begin raise exception 'db/functions is not applied'; end $$;

create trigger task_place_new before insert on planledger.tasks
  for each row execute function planledger.task_place();
create trigger task_place_kept before update of id, workspace_id, parent_task_id, root_task_id on planledger.tasks
  for each row execute function planledger.task_place();
create trigger settings_keep_row before delete on planledger.settings
  for each row execute function planledger.settings_keep_row();
comment on trigger task_place_new on planledger.tasks is 'Sets root_task_id.';
comment on trigger task_place_kept on planledger.tasks is 'Refuses to move a task.';
comment on trigger settings_keep_row on planledger.settings is 'Keeps the one row.';
