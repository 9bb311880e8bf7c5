create or replace function planledger.attachment_get(p_principal uuid, p_task_id text, p_attachment_id uuid)
returns table (id uuid, name text, media_type text, content bytea)
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_attachment';
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  return query
    select a.id, a.name::text, a.media_type::text, a.content from attachments a
    where a.task_id = p_task_id and a.id = p_attachment_id
      and (a.delivery_id is not null or a.principal_id = p_principal);
  if not found then
    perform refuse('attachment_not_found', c_operation, p_task_id);
  end if;
end
$$;

comment on function planledger.attachment_get(uuid, text, uuid) is
  'A file that a prompt carries, or that the caller has staged. Takes no lock. Raises validation_error, task_unreachable, attachment_not_found.';
