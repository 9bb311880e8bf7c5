create or replace function planledger.agent_job(
  p_task_id text,
  p_session_id text,
  p_run_at timestamptz default null
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform job_add('start_agent', json_build_object('task_id', s.task_id, 'session_id', s.id),
    concat_ws('/', 'agent ' || s.task_id, s.id), coalesce(p_run_at, clock_timestamp()), p_run_at is null)
  from task_sessions s
  where s.task_id = p_task_id and s.id = p_session_id and s.transport in ('acp', 'passthrough');
end
$$;

comment on function planledger.agent_job(text, text, timestamptz) is
  'Has a worker start the agent of a session at p_run_at, where workers run it; by default when that is due anyway, or else now.';
