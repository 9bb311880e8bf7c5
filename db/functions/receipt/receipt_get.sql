create or replace function planledger.receipt_get(p_principal uuid, p_task_id text, p_receipt_id uuid)
returns setof planledger.receipt
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'get_receipt';
begin
  perform require_labels(c_operation, p_task_id);
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  return query select o.* from receipt_of(p_task_id, p_receipt_id) o where o.id is not null;
end
$$;

comment on function planledger.receipt_get(uuid, text, uuid) is
  'How far one accepted prompt has come; no row where the task has no such receipt, or it was acknowledged long ago. Takes no lock. Raises validation_error, task_unreachable.';
