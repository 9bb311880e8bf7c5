create or replace function planledger.agent_postpone(p_task_id text, p_receipt_id uuid, p_session_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform receipt_job(p_task_id, p_receipt_id, a.lease_expires_at)
  from session_agents a where a.task_id = p_task_id and a.session_id = p_session_id;
end
$$;

comment on function planledger.agent_postpone(text, uuid, text) is
  'Has a worker look at a receipt again when the lease on its session''s agent has ended, should its holder not take it.';
