create or replace function planledger.workspace_create(p_name text, p_workspace_id text default null)
returns table (id text, name text)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'create_workspace';
  v_id text := coalesce(p_workspace_id, gen_random_uuid()::text);
begin
  perform require_label('name', p_name, c_operation, null);
  perform require_label('workspace_id', v_id, c_operation, null);
  return query
    insert into workspaces as w (id, name) values (v_id, p_name)
    on conflict do nothing
    returning w.id::text, w.name::text;
  if not found then
    perform refuse_argument('workspace_id', 'workspace_id is already in use.', c_operation, null, false);
  end if;
end
$$;

comment on function planledger.workspace_create(text, text) is
  'Makes a workspace named p_name (1 to 200 characters); p_workspace_id is generated when not given. For administrators. Raises validation_error.';
