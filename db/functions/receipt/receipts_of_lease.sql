create or replace function planledger.receipts_of_lease(p_operation text, p_task_id text, p_token uuid, p_state text)
returns planledger.receipts
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_receipt receipts;
begin
  select * into v_receipt from receipts r
  where r.task_id = p_task_id and r.lease_token = p_token order by r.dispatch_place limit 1;
  if found then
    perform from tasks t where t.id = p_task_id for no key update;
    perform session_hold(p_operation, p_task_id, v_receipt.session_id);
    select * into v_receipt from receipts r
    where r.task_id = p_task_id and r.lease_token = p_token and r.state = p_state and r.lease_expires_at > clock_timestamp()
    order by r.dispatch_place limit 1;
  end if;
  if not found then
    perform refuse('lease_lost', p_operation, p_task_id, p_reached => false);
  end if;
  return v_receipt;
end
$$;

comment on function planledger.receipts_of_lease(text, text, uuid, text) is
  'The first receipt of a live lease, in p_state, once the task row and the session are locked; lease_lost where the token is unknown, has expired or has been used.';
