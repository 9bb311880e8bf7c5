create or replace function planledger.revision_find(p_operation text, p_task_id text, p_revision_id text)
returns planledger.plan_revisions
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_revision plan_revisions;
begin
  if p_revision_id ~ '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then
    select * into v_revision from plan_revisions r
    where r.task_id = p_task_id and r.id = p_revision_id::uuid;
  end if;
  if v_revision.id is null then
    perform refuse('revision_not_found', p_operation, p_task_id);
  end if;
  return v_revision;
end
$$;

comment on function planledger.revision_find(text, text, text) is
  'The revision p_revision_id of p_task_id. Any text may be passed; an unknown one, or a revision of another task, is revision_not_found.';
