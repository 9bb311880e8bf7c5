create or replace function planledger.receipts_end(p_receipt planledger.receipts, p_state text, p_failure text default null)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
begin
  update receipts r
  set state = p_state, failure = coalesce(left(nullif(p_failure, ''), 1000), r.failure), ended_at = clock_timestamp(),
    lease_token = null, lease_expires_at = null
  where r.task_id = (p_receipt).task_id and r.session_id = (p_receipt).session_id and r.dispatch_id = (p_receipt).dispatch_id
    and r.state in ('pending', 'reserved', 'attempted');
  if p_state <> 'acknowledged' then
    perform transcript_add((p_receipt).task_id, (p_receipt).session_id, 'system', 'notice',
      case p_state when 'failed' then 'The prompt was not delivered.' else 'It is not known whether the prompt was delivered. It is not sent again.' end
        || coalesce(' ' || left(nullif(p_failure, ''), 1000), ''));
  end if;
end
$$;

comment on function planledger.receipts_end(planledger.receipts, text, text) is
  'Ends the receipts of one prompt: p_state acknowledged, cleared or failed, with p_failure for people. The caller holds the session''s lock.';
