-- The job queue's own function is a few statements over a list of jobs. For a list of one
-- PostgreSQL plans them anew at every call, which takes longer than they do, unless told not to.
create or replace function planledger.job_add(
  p_task text,
  p_payload json,
  p_key text,
  p_run_at timestamptz,
  p_keep_time boolean default false
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  -- rows are looked up by key; a plan made while tables were small must not stay
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
begin
  perform planledger_jobs.add_job(p_task, p_payload, job_key => p_key, run_at => p_run_at,
    job_key_mode => case when p_keep_time then 'preserve_run_at' else 'replace' end);
end
$$;

comment on function planledger.job_add(text, json, text, timestamptz, boolean) is
  'Has a worker do p_task with p_payload at p_run_at; once for each p_key, however often it is called before that, at the time given last, or with p_keep_time at the one given first.';
