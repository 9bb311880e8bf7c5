-- The rule of reach, once: who may touch which task, and how history names them.
create or replace view planledger.admissions as
select
  p.id as principal_id,
  t.id as task_id,
  p.scopes,
  case p.kind when 'user' then 'user' else 'agent' end as author_kind,
  coalesce(p.display_name, case p.kind when 'user' then 'User' else 'Agent' end)::text as author_name
from planledger.principals p
  join planledger.tasks t on t.workspace_id = p.workspace_id
where p.kind <> 'agent' or t.root_task_id = p.root_task_id;

comment on view planledger.admissions is
  'Which principal reaches which task: a user or service all of its workspace, an agent the tree of its session''s task. For the functions; nobody else may read it.';
comment on column planledger.admissions.principal_id is 'Who calls.';
comment on column planledger.admissions.task_id is 'A task they reach.';
comment on column planledger.admissions.scopes is 'What they may do there.';
comment on column planledger.admissions.author_kind is 'How history names them: agent or user.';
comment on column planledger.admissions.author_name is 'Their display name, or Agent or User.';
