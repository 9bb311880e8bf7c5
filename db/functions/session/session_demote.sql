create or replace function planledger.session_demote(p_task_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform session_changed(p_task_id, d.id)
  from (select s.id from task_sessions s where s.task_id = p_task_id and s.is_primary) d;
  update task_sessions s set is_primary = false, updated_at = greatest(clock_timestamp(), s.updated_at)
  where s.task_id = p_task_id and s.is_primary;
end
$$;

comment on function planledger.session_demote(text) is
  'Leaves a task without a primary session, for another to take its place. The caller holds admission_lock.';
