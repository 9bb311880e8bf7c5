create or replace function planledger.delivery_replay(
  p_operation text,
  p_principal uuid,
  p_task_id text,
  p_client_id text,
  p_request_sha256 bytea
)
returns planledger.delivery
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_stored deliveries;
  v_none delivery;
begin
  select * into v_stored from deliveries d where d.task_id = p_task_id and d.client_id = p_client_id;
  if not found then
    return v_none;
  elsif v_stored.principal_id <> p_principal or v_stored.request_sha256 <> p_request_sha256 then
    perform refuse('idempotency_conflict', p_operation, p_task_id,
      jsonb_build_object('request_id', p_client_id)
        || case when v_stored.principal_id = p_principal then jsonb_build_object('delivery_id', v_stored.id,
          'session_id', v_stored.session_id, 'action', v_stored.action) else '{}' end);
  end if;
  return delivery_of(p_task_id, p_client_id, true);
end
$$;

comment on function planledger.delivery_replay(text, uuid, text, text, bytea) is
  'The delivery that an earlier request with p_client_id became, where that request was the same; all null where there was none; idempotency_conflict where anything differs, its caller included.';
