create or replace function planledger.delivery_get(p_principal uuid, p_task_id text, p_client_id text)
returns setof planledger.delivery
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_delivery';
begin
  perform require_labels(c_operation, p_task_id);
  perform require_label('client_id', p_client_id, c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  return query select o.* from delivery_of(p_task_id, p_client_id) o where o.id is not null;
end
$$;

comment on function planledger.delivery_get(uuid, text, text) is
  'What became of the request with p_client_id (its client_message_id or client_queue_id), also long after it was delivered; no row where no such request was accepted. Takes no lock. Raises validation_error, task_unreachable.';
