create or replace function planledger.attachment_stage(
  p_principal uuid,
  p_task_id text,
  p_name text,
  p_media_type text,
  p_content bytea
)
returns table (id uuid, task_id text, name text, media_type text, bytes integer, created_at timestamptz)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'stage_attachment';
  c_bytes constant integer := 10485760;
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform require_label('name', p_name, c_operation, p_task_id);
  perform require_label('media_type', p_media_type, c_operation, p_task_id);
  if p_content is null or octet_length(p_content) not between 1 and c_bytes then
    perform refuse_argument('content', format('A file has 1 to %s bytes; this one has %s.', c_bytes, coalesce(octet_length(p_content), 0)),
      c_operation, p_task_id, false);
  end if;
  perform reach(c_operation, p_principal, p_task_id, 'task:write');

  perform admission_lock(c_operation, p_principal, p_task_id, 'task:write', p_plan => false);
  return query
    insert into attachments as a (task_id, name, media_type, content, principal_id)
    values (p_task_id, p_name, p_media_type, p_content, p_principal)
    returning a.id, a.task_id::text, a.name::text, a.media_type::text, octet_length(a.content), a.created_at;
end
$$;

comment on function planledger.attachment_stage(uuid, text, text, text, bytea) is
  'Keeps a file of 1 byte to 10 MiB for a prompt that names its id (p_attachments) within a day; then it goes. p_name and p_media_type: 1 to 200 characters. Takes the lease (shared) and admission locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
