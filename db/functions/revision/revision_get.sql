create or replace function planledger.revision_get(p_principal uuid, p_task_id text, p_revision_id text)
returns table (
  id uuid,
  task_id text,
  revision_number integer,
  title text,
  content text,
  revision_version text,
  author_kind text,
  author_name text,
  restored_from uuid,
  content_bytes integer,
  created_at timestamptz,
  updated_at timestamptz
)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_revision';
  v_revision plan_revisions;
  v_content text;
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'plan:read');
  v_revision := revision_find(c_operation, p_task_id, p_revision_id);
  v_content := revision_text('plan_history_unavailable', c_operation, p_task_id,
    v_revision.first_segment, v_revision.last_segment, v_revision.tail, v_revision.content_bytes);
  return query
    select v_revision.id, v_revision.task_id::text, v_revision.revision_number::integer, v_revision.title::text, v_content,
      revision_version(p_task_id, v_revision.id, v_revision.title, v_content, v_revision.updated_at),
      v_revision.author_kind::text, v_revision.author_name::text, v_revision.restored_from,
      v_revision.content_bytes::integer,
      v_revision.created_at, v_revision.updated_at;
end
$$;

comment on function planledger.revision_get(uuid, text, text) is
  'One revision of p_task_id: exact title and text, and revision_version, which a restore must send. p_revision_id is any text; an unknown one, or a revision of another task, is revision_not_found. Takes no lock. Raises validation_error, task_unreachable, revision_not_found, plan_history_unavailable.';
