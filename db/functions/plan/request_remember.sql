create or replace function planledger.request_remember(
  p_operation text,
  p_task_id text,
  p_caller planledger.caller,
  p_request_id text,
  p_arguments jsonb,
  p_ack planledger.plan_write_ack
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  insert into plan_requests (task_id, request_id, principal_id, operation, arguments_sha256, acknowledgement)
  values (p_task_id, p_request_id, (p_caller).principal_id, p_operation, request_digest(p_arguments), to_jsonb(p_ack));
end
$$;

comment on function planledger.request_remember(text, text, planledger.caller, text, jsonb, planledger.plan_write_ack) is
  'Stores an acknowledgement with its p_request_id, in the write''s transaction.';
