create or replace function planledger.attachments_claim(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_attachment_ids uuid[],
  p_delivery_id uuid
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_claimed integer;
  v_bytes bigint;
begin
  with claimed as (
    update attachments a
    set delivery_id = p_delivery_id, delivery_place = array_position(p_attachment_ids, a.id)
    where a.task_id = p_task_id and a.id = any (p_attachment_ids) and a.delivery_id is null and a.principal_id = p_principal
    returning octet_length(a.content) as bytes
  )
  select count(*), coalesce(sum(c.bytes), 0) into v_claimed, v_bytes from claimed c;
  if v_claimed <> cardinality(p_attachment_ids) then
    perform refuse('attachment_not_found', p_operation, p_task_id);
  end if;
  perform attachments_size_check(p_operation, p_task_id, 'attachments', v_bytes);
end
$$;

comment on function planledger.attachments_claim(text, uuid, text, uuid[], uuid) is
  'Gives the staged files p_attachment_ids of p_principal to a delivery: all of them, each once, with at most 25 MiB. Raises attachment_not_found, validation_error.';
