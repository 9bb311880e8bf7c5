create or replace function planledger.reduction_check(
  p_operation text,
  p_task_id text,
  p_caller planledger.caller,
  p_head planledger.plan_head,
  p_new_chars integer,
  p_allow_truncation boolean
)
returns boolean
language plpgsql stable
set search_path = planledger, pg_temp
as $$
begin
  if not (p_caller).guarded
     or (p_head).plan_id is null
     or not text_is_suspicious_reduction((p_head).content_chars, p_new_chars) then
    return false;
  end if;
  if not coalesce(p_allow_truncation, false) then
    perform refuse('plan_truncation_rejected', p_operation, p_task_id,
      jsonb_build_object('current_chars', (p_head).content_chars, 'new_chars', p_new_chars));
  end if;
  perform history_check(p_operation, p_task_id, p_head);
  return true;
end
$$;

comment on function planledger.reduction_check(text, text, planledger.caller, planledger.plan_head, integer, boolean) is
  'Whether a write to p_new_chars characters is an acknowledged reduction. A suspicious one that is not acknowledged is refused (plan_truncation_rejected, both counts); an acknowledged one only where the text it replaces is safe in history (plan_history_unavailable). The browser policy has no such guard.';
