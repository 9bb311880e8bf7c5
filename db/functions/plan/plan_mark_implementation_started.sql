-- Not a plan write: it takes no plan lock, and the row decides who was first.
create or replace function planledger.plan_mark_implementation_started(
  p_principal uuid,
  p_task_id text,
  p_session_id text
)
returns table (
  plan_id uuid,
  implementation_started_at timestamptz,
  implementation_started_session_id text,
  implementation_started_by text
)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'mark_implementation_started';
  v_caller caller;
  v_session_found boolean;
  v_plan_id uuid;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform require_label('session_id', p_session_id, c_operation, p_task_id);
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:write');
  -- The rows of task, session and plan in the order in which a deletion of the task goes through them.
  perform from tasks t where t.id = p_task_id for key share;
  perform from task_sessions s where s.task_id = p_task_id and s.id = p_session_id for key share;
  v_session_found := found;
  if not exists (select from plans p where p.task_id = p_task_id and p.implementation_started_at is not null) then
    perform from plans p where p.task_id = p_task_id for no key update;
  end if;
  perform reach_again(c_operation, p_principal, p_task_id, 'plan:write');
  if not v_session_found then
    perform refuse_argument('session_id', 'The session does not belong to this task.', c_operation, p_task_id, true);
  end if;

  update plans p
  set implementation_started_at = clock_timestamp(), implementation_started_session_id = p_session_id,
    implementation_started_by = v_caller.author_kind, implementation_started_principal_id = v_caller.principal_id
  where p.task_id = p_task_id and p.implementation_started_at is null
  returning p.id into v_plan_id;
  if found then
    insert into events (task_id, kind, plan_id) values (p_task_id, 'plan.implementation_started', v_plan_id);
  end if;

  return query
    select p.id, p.implementation_started_at, p.implementation_started_session_id::text, p.implementation_started_by::text
    from plans p where p.task_id = p_task_id;
  if not found then
    perform refuse('plan_not_found', c_operation, p_task_id);
  end if;
end
$$;

comment on function planledger.plan_mark_implementation_started(uuid, text, text) is
  'Records, once, that implementation of the plan started, in which session of the task and by whom; later calls return the stored marker unchanged. Writes no revision and no version. Raises validation_error, task_unreachable, task_not_found, plan_not_found, isolation_not_supported.';
