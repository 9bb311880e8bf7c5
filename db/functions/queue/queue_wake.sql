-- Called after whatever may let a prompt go out: a turn that ended, an entry that came, was
-- moved or removed.
create or replace function planledger.queue_wake(p_task_id text, p_session_id text)
returns void
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_receipt_id uuid;
  v_dispatch_id uuid;
begin
  if not exists (
    select from task_sessions s
    where s.task_id = p_task_id and s.id = p_session_id and session_accepts(s.state) = 'direct'
  ) then
    return;
  end if;
  -- What was asked to be sent now goes before the queue, and takes the session at once.
  select r.id, r.dispatch_id into v_receipt_id, v_dispatch_id from receipts r
  where r.task_id = p_task_id and r.session_id = p_session_id and r.state = 'pending' and r.dispatch_id is not null
  order by r.created_at, r.dispatch_place limit 1;
  if found then
    perform session_begin_turn(p_task_id, p_session_id, v_dispatch_id);
  else
    v_receipt_id := queue_head(p_task_id, p_session_id);
  end if;
  if v_receipt_id is not null then
    perform receipt_job(p_task_id, v_receipt_id);
  end if;
end
$$;

comment on function planledger.queue_wake(text, text) is
  'Has a worker look at what goes out next to a session that waits for a prompt. The caller holds the session''s lock.';
