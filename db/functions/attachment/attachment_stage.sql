create or replace function planledger.attachment_stage(
  p_principal uuid,
  p_task_id text,
  p_name text,
  p_media_type text,
  p_content bytea,
  p_attachment_id uuid default null
)
returns table (id uuid, task_id text, name text, media_type text, bytes integer, created_at timestamptz)
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'stage_attachment';
  c_token constant text := '[A-Za-z0-9!#$&^_.+-]+';
begin
  perform require_read_committed(c_operation, p_task_id);
  perform require_labels(c_operation, p_task_id);
  perform require_label('name', p_name, c_operation, p_task_id);
  perform require_label('media_type', p_media_type, c_operation, p_task_id);
  if p_name ~ '[\u0001-\u001f\u007f-\u009f/\\]' or p_name in ('.', '..') then
    perform refuse_argument('name', 'name must be that of a file: without /, \ and control characters.', c_operation, p_task_id, false);
  elsif p_media_type !~ ('^' || c_token || '/' || c_token || '$') then
    perform refuse_argument('media_type', 'media_type must be a type and a subtype, such as text/plain.', c_operation, p_task_id, false);
  elsif p_content is null or octet_length(p_content) not between 1 and attachment_max_bytes() then
    perform refuse_argument('content', format('A file has 1 to %s bytes; this one has %s.',
      attachment_max_bytes(), coalesce(octet_length(p_content), 0)), c_operation, p_task_id, false);
  end if;
  perform reach(c_operation, p_principal, p_task_id, 'task:write');

  perform admission_lock(c_operation, p_principal, p_task_id, 'task:write', p_plan => false);
  -- A file that waits again waits a whole day again.
  return query
    insert into attachments as a (task_id, id, name, media_type, content, principal_id)
    values (p_task_id, coalesce(p_attachment_id, gen_random_uuid()), p_name, p_media_type, p_content, p_principal)
    on conflict on constraint attachments_pkey do update
    set created_at = case when a.delivery_id is null then clock_timestamp() else a.created_at end
    where a.principal_id = p_principal and a.name = p_name and a.media_type = p_media_type and a.content = p_content
    returning a.id, a.task_id::text, a.name::text, a.media_type::text, octet_length(a.content), a.created_at;
  if not found then
    perform refuse_argument('attachment_id', 'Another file of the task has this id.', c_operation, p_task_id, true);
  end if;
end
$$;

comment on function planledger.attachment_stage(uuid, text, text, text, bytea, uuid) is
  'Keeps a file of 1 to attachment_max_bytes() bytes for a prompt that names its id (p_attachments) within a day; then it goes. p_name: 1 to 200 characters without /, \ and control characters; p_media_type: a type and a subtype, at most 200 characters. p_attachment_id (absent: a new one) makes a repeat harmless: with the same file, sent or not, it is answered as it is stored. Takes the lease (shared) and admission locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported.';
