create or replace function planledger.principal_create(
  p_workspace_id text,
  p_kind text,
  p_display_name text default null,
  p_scopes text[] default array['plan:read', 'plan:write', 'task:read', 'task:write'],
  p_task_id text default null,
  p_session_id text default null
)
returns table (id uuid, kind text, display_name text, scopes text[], task_id text, session_id text)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'create_principal';
  c_scopes constant text[] := array['plan:read', 'plan:write', 'task:read', 'task:write'];
  v_session_id text := p_session_id;
  v_root_task_id text;
begin
  if not exists (select from workspaces w where w.id = p_workspace_id) then
    perform refuse_argument('workspace_id', 'There is no such workspace.', c_operation, p_task_id, false);
  end if;
  if p_kind is null or p_kind not in ('user', 'agent', 'service') then
    perform refuse_argument('kind', 'kind must be user, agent or service.', c_operation, p_task_id, false);
  end if;
  if p_display_name is not null then
    perform require_label('display_name', p_display_name, c_operation, p_task_id);
  end if;
  if p_scopes is null or array_position(p_scopes, null) is not null or not p_scopes <@ c_scopes then
    perform refuse_argument('scopes', format('scopes must be some of %s.', array_to_string(c_scopes, ', ')),
      c_operation, p_task_id, false);
  end if;
  if (p_scopes @> array['plan:write'] and not p_scopes @> array['plan:read'])
     or (p_scopes @> array['task:write'] and not p_scopes @> array['task:read']) then
    perform refuse_argument('scopes', 'plan:write needs plan:read, and task:write needs task:read.',
      c_operation, p_task_id, false);
  end if;
  if (p_kind = 'agent') <> (p_task_id is not null) or (p_session_id is not null and p_task_id is null) then
    perform refuse_argument('task_id', 'An agent needs the task its session is about; a user or service has none.',
      c_operation, p_task_id, false);
  end if;

  if p_kind = 'agent' then
    select t.root_task_id into v_root_task_id from tasks t where t.id = p_task_id and t.workspace_id = p_workspace_id
    for key share;
    if not found then
      perform refuse_argument('task_id', 'The workspace has no such task.', c_operation, p_task_id, false);
    end if;
    if p_session_id is null then
      insert into task_sessions as s (task_id, name, agent_name)
      values (p_task_id, coalesce(p_display_name, 'Agent'), coalesce(p_display_name, 'Agent'))
      returning s.id into v_session_id;
    elsif not exists (select from task_sessions s where s.task_id = p_task_id and s.id = p_session_id) then
      perform refuse_argument('session_id', 'The task has no such session.', c_operation, p_task_id, false);
    end if;
  end if;

  return query
    insert into principals as p (workspace_id, kind, display_name, scopes, session_task_id, session_id, root_task_id)
    values (p_workspace_id, p_kind, p_display_name, p_scopes, p_task_id, v_session_id, v_root_task_id)
    returning p.id, p.kind, p.display_name::text, p.scopes, p.session_task_id::text, p.session_id::text;
end
$$;

comment on function planledger.principal_create(text, text, text, text[], text, text) is
  'Makes a principal of p_workspace_id: a user, a service, or an agent on p_task_id, whose session is p_session_id or a new one. p_display_name (1 to 200 characters) is the author name in history. p_scopes: some of plan:read, plan:write, task:read, task:write; writing includes reading. For administrators. Raises validation_error.';
