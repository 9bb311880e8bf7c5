create or replace function planledger.revision_list(
  p_principal uuid,
  p_task_id text,
  p_before_revision_number integer default null,
  p_limit integer default 20,
  p_policy text default 'agent'
)
returns table (
  id uuid,
  task_id text,
  revision_number integer,
  title text,
  author_kind text,
  author_name text,
  restored_from uuid,
  content_bytes integer,
  created_at timestamptz,
  updated_at timestamptz,
  next_before_revision_number integer
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'list_revisions';
  v_caller caller;
begin
  perform require_labels(c_operation, p_task_id);
  if p_limit not between 1 and 100 then
    perform refuse_argument('limit', 'limit must be from 1 to 100.', c_operation, p_task_id, false);
  end if;
  if p_before_revision_number < 1 then
    perform refuse_argument('before_revision_number', 'before_revision_number must be 1 or more.',
      c_operation, p_task_id, false);
  end if;
  v_caller := reach(c_operation, p_principal, p_task_id, 'plan:read', p_policy);

  return query
    select r.id, r.task_id::text, r.revision_number::integer, r.title::text, r.author_kind::text, r.author_name::text,
      r.restored_from, r.content_bytes::integer, r.created_at, r.updated_at,
      nullif(min(r.revision_number::integer) over (), 1)
    from (
      select * from plan_revisions a
      where a.task_id = p_task_id
        and (p_before_revision_number is null or a.revision_number < p_before_revision_number)
      order by a.revision_number desc
      limit case when v_caller.guarded then coalesce(p_limit, 20) end
    ) r
    order by r.revision_number desc;
end
$$;

comment on function planledger.revision_list(uuid, text, integer, integer, text) is
  'Revisions of p_task_id without their text, newest first: p_limit (1 to 100) of those below p_before_revision_number (1 or more; null for the newest). next_before_revision_number, the same on each row, asks for the next page; null on the last. p_policy browser (users only): all of them. Raises validation_error, task_unreachable.';
