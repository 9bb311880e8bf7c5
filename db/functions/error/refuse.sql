-- Facts come from calls, not from stored text: the database server logs DETAIL.
create or replace function planledger.refuse(
  p_code text,
  p_operation text,
  p_task_id text,
  p_facts jsonb default '{}',
  p_reached boolean default true
)
returns void
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_error record;
  v_facts jsonb := coalesce(p_facts, '{}') || jsonb_build_object('task_id', p_task_id);
  v_version uuid;
  v_name text;
begin
  select * into strict v_error from error_catalog() c where c.code = p_code;

  if p_reached and p_code <> 'plan_head_unavailable' then
    begin
      select r.write_version into v_version
      from plans p join plan_revisions r using (task_id, revision_number)
      where p.task_id = p_task_id;
      v_facts := v_facts || jsonb_build_object('current_version', v_version);
    exception
      when others then null;  -- the refusal itself stands; its version is a courtesy
    end;
  end if;

  for v_name in select jsonb_object_keys(v_facts) loop
    v_error.message := replace(v_error.message, '{' || v_name || '}', coalesce(v_facts ->> v_name, '(none)'));
    v_error.next_action := replace(v_error.next_action, '{' || v_name || '}', coalesce(v_facts ->> v_name, '(none)'));
  end loop;

  raise exception using
    errcode = v_error.sqlstate,
    message = v_error.message,
    detail = (v_facts || jsonb_build_object(
      'code', p_code, 'operation', p_operation, 'write_applied', false))::text,
    hint = v_error.next_action;
end
$$;

comment on function planledger.refuse(text, text, text, jsonb, boolean) is
  'Raises the refusal p_code of error_catalog() for p_operation on p_task_id. DETAIL is JSON: code, operation, task_id, write_applied, p_facts and, once the caller has reached the task (p_reached), current_version. HINT is the next action.';
