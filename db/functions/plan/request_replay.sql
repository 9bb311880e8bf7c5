create or replace function planledger.request_replay(
  p_operation text,
  p_task_id text,
  p_caller planledger.caller,
  p_request_id text,
  p_arguments jsonb
)
returns planledger.plan_write_ack
language plpgsql stable
set search_path = planledger, pg_temp
as $$
declare
  v_request plan_requests;
  v_ack plan_write_ack;
begin
  select * into v_request from plan_requests r
  where r.task_id = p_task_id and r.request_id = p_request_id;
  if not found then
    return null;
  end if;
  if v_request.principal_id <> (p_caller).principal_id
     or v_request.operation <> p_operation
     or v_request.arguments_sha256 <> request_digest(p_arguments) then
    perform refuse('idempotency_conflict', p_operation, p_task_id,
      jsonb_build_object('request_id', p_request_id));
  end if;
  v_ack := jsonb_populate_record(null::plan_write_ack, v_request.acknowledgement);
  v_ack.replayed := true;
  return v_ack;
end
$$;

comment on function planledger.request_replay(text, text, planledger.caller, text, jsonb) is
  'The acknowledgement remembered for p_request_id, marked replayed; null where there is none. idempotency_conflict where the earlier call differs in anything, its caller included.';
