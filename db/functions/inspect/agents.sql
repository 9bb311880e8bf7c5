create or replace view planledger.agents as
select
  s.task_id::text as task_id,
  s.id::text as session_id,
  s.agent_name::text as agent_name,
  s.transport::text as transport,
  s.state::text as state,
  s.failure::text as failure,
  a.holder::text as worker,
  a.started_at,
  a.lease_expires_at,
  a.lease_expires_at > clock_timestamp() as alive
from planledger.task_sessions s
  left join planledger.session_agents a on a.task_id = s.task_id and a.session_id = s.id
where s.state not in ('COMPLETED', 'FAILED', 'CANCELLED') or a.holder is not null;

comment on view planledger.agents is 'The sessions that have not ended, and which worker runs the agent of each.';
comment on column planledger.agents.task_id is 'The task.';
comment on column planledger.agents.session_id is 'The session.';
comment on column planledger.agents.agent_name is 'The agent, as workers know it.';
comment on column planledger.agents.transport is 'How prompts reach it; null where a program of somebody''s own takes them.';
comment on column planledger.agents.state is 'Where the conversation stands.';
comment on column planledger.agents.failure is 'What went wrong last, if anything.';
comment on column planledger.agents.worker is 'The worker that runs its process; null where none does.';
comment on column planledger.agents.started_at is 'Since when it does.';
comment on column planledger.agents.lease_expires_at is 'When its lease ends, unless it is renewed.';
comment on column planledger.agents.alive is 'Whether the lease is live; false where the worker did not renew it.';
