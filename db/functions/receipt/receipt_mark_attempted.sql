-- The one step between preparing and sending. It commits before the first byte goes out, and
-- after it the prompt is never sent again by itself: it may have arrived.
create or replace function planledger.receipt_mark_attempted(
  p_task_id text,
  p_token uuid,
  p_limit interval default interval '2 minutes'
)
returns table (outcome text, message_id uuid, content text, plan_mode boolean, attachment_ids uuid[])
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'mark_attempted';
  v_receipt receipts;
  v_session session;
  v_refusal text;
begin
  perform require_read_committed(c_operation, p_task_id);
  if p_limit is null or p_limit not between interval '1 second' and interval '1 hour' then
    perform refuse_argument('limit', 'limit must be 1 second to 1 hour.', c_operation, p_task_id, false);
  end if;
  v_receipt := receipts_of_lease(c_operation, p_task_id, p_token, 'reserved');
  v_session := session_of(p_task_id, v_receipt.session_id);
  select case when v_session.accepts = 'nothing' then 'The session had ended.'
    when t.archived_at is not null then 'The task was archived.' end
  into v_refusal from tasks t where t.id = p_task_id;
  if v_refusal is not null then
    perform receipts_end(v_receipt, 'failed', v_refusal);
    perform queue_changed(p_task_id, v_receipt.session_id);
    perform session_free(p_task_id, v_receipt.session_id, v_receipt.dispatch_id, v_refusal);
    return query select 'refused', null::uuid, null, null::boolean, null::uuid[];
    return;
  elsif v_session.accepts = 'direct' then
    -- Somebody said that the session waits, while this was made ready.
    perform session_begin_turn(p_task_id, v_session.id, v_receipt.dispatch_id);
  elsif v_session.turn_id <> v_receipt.dispatch_id then
    perform receipts_put_back(v_receipt, 'The session began another turn.');
    return query select 'postponed', null::uuid, null, null::boolean, null::uuid[];
    return;
  end if;

  perform transcript_write(v_receipt);
  update receipts r
  set state = 'attempted', attempted_at = clock_timestamp(), lease_expires_at = clock_timestamp() + p_limit
  where r.task_id = p_task_id and r.lease_token = p_token;
  return query
    select 'attempted', m.id, m.content::text, m.plan_mode, coalesce((
      select array_agg(a.id order by r.dispatch_place, a.delivery_place)
      from receipts r join attachments a on a.task_id = r.task_id and a.delivery_id = r.id
      where r.task_id = p_task_id and r.lease_token = p_token), '{}')
    from session_messages m where m.task_id = p_task_id and m.id = v_receipt.dispatch_id;
end
$$;

comment on function planledger.receipt_mark_attempted(text, uuid, interval) is
  'Says that the prompt of a reserved receipt goes out now, writes it into the transcript and answers it: outcome attempted. After that it is acknowledged within p_limit (1 second to 1 hour), or cleared. refused: the task was archived or the session ended; the receipt failed. postponed: the session is in another turn; the receipt is given back. Takes the task row and the session lock. Raises lease_lost, validation_error, plan_busy, isolation_not_supported.';
