create or replace function planledger.task_create(
  p_principal uuid,
  p_task_id text,
  p_title text,
  p_parent_task_id text default null
)
returns table (id text, workspace_id text, parent_task_id text, title text, created_at timestamptz)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'create_task';
  v_id text := coalesce(p_task_id, gen_random_uuid()::text);
  v_workspace_id text;
  v_kind text;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, v_id);
  perform require_label('title', p_title, c_operation, p_task_id);
  if p_parent_task_id is not null then
    perform reach(c_operation, p_principal, p_parent_task_id, 'task:write');
    perform reach_again(c_operation, p_principal, p_parent_task_id, 'task:write');
    select t.workspace_id into v_workspace_id from tasks t where t.id = p_parent_task_id;
  else
    select p.workspace_id, p.kind into v_workspace_id, v_kind from principals p
    where p.id = p_principal and 'task:write' = any (p.scopes)
    for share;  -- an id that another transaction is taking is waited for below
    if not found then
      perform refuse('task_unreachable', c_operation, p_task_id, p_reached => false);
    elsif v_kind = 'agent' then
      perform refuse_argument('parent_task_id',
        'An agent makes tasks only below one that it reaches, which parent_task_id (CLI: --parent) names.',
        c_operation, p_task_id, false);
    end if;
  end if;

  return query
    insert into tasks as t (id, workspace_id, parent_task_id, title)
    values (v_id, v_workspace_id, p_parent_task_id, p_title)
    on conflict do nothing
    returning t.id::text, t.workspace_id::text, t.parent_task_id::text, t.title::text, t.created_at;
  if not found then
    perform refuse_argument('task_id', 'task_id is already in use.', c_operation, v_id, false);
  end if;
  insert into events (task_id, kind) values (v_id, 'task.created');
end
$$;

comment on function planledger.task_create(uuid, text, text, text) is
  'Makes a task titled p_title (1 to 200 characters), at the top of the caller''s workspace or below p_parent_task_id. p_task_id is generated when null. An agent needs a parent it reaches. Raises validation_error, task_unreachable, task_not_found, isolation_not_supported.';
