create or replace function planledger.receipt_job(
  p_task_id text,
  p_receipt_id uuid,
  p_not_before timestamptz default '-infinity'
)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  perform job_add('deliver_receipt', json_build_object('task_id', r.task_id, 'receipt_id', r.id), 'receipt ' || r.id,
    greatest(clock_timestamp(), r.not_before, p_not_before))
  from receipts r join task_sessions s on s.task_id = r.task_id and s.id = r.session_id
  where r.task_id = p_task_id and r.id = p_receipt_id and s.transport is not null;
end
$$;

comment on function planledger.receipt_job(text, uuid, timestamptz) is
  'Has a worker look at a receipt when its time has come, not before p_not_before; once, however often it is called before that. Receipts of a session without a transport are taken by a program of somebody''s own.';
