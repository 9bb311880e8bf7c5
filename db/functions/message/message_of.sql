create or replace function planledger.message_of(p_task_id text, p_message_id uuid)
returns planledger.message
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_message message;
begin
  select m.id, m.task_id, m.session_id, m.role, m.kind, m.content, m.client_id, m.comments, coalesce((
      select jsonb_agg(jsonb_build_object('id', a.id, 'name', a.name, 'media_type', a.media_type, 'bytes', octet_length(a.content))
        order by d.created_at, d.id, a.delivery_place)
      from deliveries d join attachments a on a.task_id = d.task_id and a.delivery_id = d.id
      where d.task_id = m.task_id and d.message_id = m.id and m.role = 'user'), '[]'),
    m.plan_mode, m.author_name, m.created_at
  into v_message
  from session_messages m where m.task_id = p_task_id and m.id = p_message_id;
  return v_message;
end
$$;

comment on function planledger.message_of(text, uuid) is
  'A message of p_task_id as callers see it; all null where there is none.';
