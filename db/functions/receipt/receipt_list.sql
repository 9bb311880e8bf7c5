create or replace function planledger.receipt_list(
  p_principal uuid,
  p_task_id text,
  p_session_id text default null,
  p_state text default null,
  p_before_receipt_id uuid default null,
  p_limit integer default 100
)
returns setof planledger.receipt
language plpgsql stable security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'list_receipts';
begin
  perform require_labels(c_operation, p_task_id);
  if p_limit is null or p_limit not between 1 and 1000 then
    perform refuse_argument('limit', 'limit must be from 1 to 1000.', c_operation, p_task_id, false);
  elsif p_state not in ('pending', 'reserved', 'attempted', 'acknowledged', 'cleared', 'failed') then
    perform refuse_argument('state', 'state must be pending, reserved, attempted, acknowledged, cleared or failed.',
      c_operation, p_task_id, false);
  end if;
  perform reach(c_operation, p_principal, p_task_id, 'task:read');
  if p_session_id is not null then
    perform session_find(c_operation, p_task_id, p_session_id);
  end if;
  if p_before_receipt_id is not null and not exists (
    select from receipts r where r.task_id = p_task_id and r.id = p_before_receipt_id)
  then
    perform refuse_argument('before_receipt_id', 'before_receipt_id names no receipt of this task, or one of long ago; begin with the newest.',
      c_operation, p_task_id, true);
  end if;
  return query
    select o.*
    from (
      select r.id, r.created_at from receipts r
      where r.task_id = p_task_id and (p_session_id is null or r.session_id = p_session_id)
        and (p_state is null or r.state = p_state)
        and (p_before_receipt_id is null or (r.created_at, r.id) < (
          select b.created_at, b.id from receipts b where b.task_id = p_task_id and b.id = p_before_receipt_id))
      order by r.created_at desc, r.id desc
      limit p_limit
    ) p cross join receipt_of(p_task_id, p.id) o
    order by p.created_at desc, p.id desc;
end
$$;

comment on function planledger.receipt_list(uuid, text, text, text, uuid, integer) is
  'How far the prompts of a task have come, or those of p_session_id, or those in p_state: p_limit (1 to 1,000) of them, newest first, those before p_before_receipt_id. Takes no lock. Raises validation_error, task_unreachable, session_not_found.';
