create or replace function planledger.queue_send_now(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_entry_ids uuid[],
  p_turn_id uuid default null
)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'send_queue_entries_now';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
  v_dispatch_id uuid := gen_random_uuid();
  v_facts jsonb := jsonb_build_object('session_id', v_session.id, 'state', v_session.state);
  v_contents text[];
begin
  if coalesce(cardinality(p_entry_ids), 0) = 0
    or cardinality(p_entry_ids) <> (select count(distinct g.id) from unnest(p_entry_ids) g (id)) then
    perform refuse_argument('entry_ids', 'entry_ids must name entries of the queue, each once.', c_operation, p_task_id, true);
  elsif v_session.accepts = 'nothing' then
    perform refuse('session_terminal', c_operation, p_task_id, v_facts);
  elsif p_turn_id is not null and p_turn_id <> v_session.turn_id then
    perform refuse('queue_changed', c_operation, p_task_id, v_facts);
  elsif v_session.accepts = 'queue' and not (v_session.state = 'RUNNING' and v_session.transport is not distinct from 'acp') then
    perform refuse('session_not_promptable', c_operation, p_task_id, v_facts);
  end if;

  select array_agg((queue_entry_find(c_operation, p_task_id, v_session.id, g.id)).content::text order by g.place)
  into v_contents from unnest(p_entry_ids) with ordinality as g (id, place);
  perform prompt_size_check(c_operation, p_task_id, array_to_string(v_contents, e'\n\n'));
  perform attachments_size_check(c_operation, p_task_id, 'entry_ids', (
    select sum(octet_length(a.content)) from attachments a where a.task_id = p_task_id and a.delivery_id = any (p_entry_ids)));
  update receipts r set dispatch_id = v_dispatch_id, dispatch_place = g.place, not_before = '-infinity'
  from unnest(p_entry_ids) with ordinality as g (id, place)
  where r.task_id = p_task_id and r.id = g.id;
  perform queue_changed(p_task_id, v_session.id);
  if v_session.accepts = 'direct' then
    perform queue_wake(p_task_id, v_session.id);
  else
    -- The worker that runs the turn cancels it; when it ends, these go out before anything else.
    update task_sessions s set cancel_turn_id = s.turn_id, updated_at = greatest(clock_timestamp(), s.updated_at)
    where s.task_id = p_task_id and s.id = v_session.id;
    perform session_changed(p_task_id, v_session.id);
  end if;
  return queue_of(p_task_id, v_session.id);
end
$$;

comment on function planledger.queue_send_now(uuid, text, text, uuid[], uuid) is
  'Sends the entries p_entry_ids, in that order and one empty line between, in one prompt, before anything else: at once where the session waits for a prompt; where it is in a turn that can be cancelled (transport acp), when that turn has been. p_turn_id, when given, is the turn the caller saw: queue_changed where there is another. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, session_not_promptable, queue_entry_not_found, queue_changed, prompt_too_large, plan_busy, isolation_not_supported.';
