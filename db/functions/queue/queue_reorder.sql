create or replace function planledger.queue_reorder(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_entry_ids uuid[],
  p_queue_incarnation uuid default null
)
returns planledger.queue
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'reorder_queue';
  v_session session := session_admit(c_operation, p_principal, p_task_id, p_session_id);
  v_waiting uuid[];
begin
  select array_agg(w.id order by w.id) into v_waiting
  from waiting_entries w where w.task_id = p_task_id and w.session_id = v_session.id;
  if v_waiting is distinct from (select array_agg(g.id order by g.id) from unnest(p_entry_ids) g (id))
    or (p_queue_incarnation is not null and p_queue_incarnation <> v_session.queue_incarnation) then
    perform refuse('queue_changed', c_operation, p_task_id, jsonb_build_object('session_id', v_session.id));
  end if;
  -- They change places with each other: one that a worker has reserved keeps its own, and comes back to it.
  update queue_entries q set place = p.place
  from unnest(p_entry_ids) with ordinality as g (id, number)
    join (
      select w.place, row_number() over (order by w.place) as number
      from waiting_entries w where w.task_id = p_task_id and w.session_id = v_session.id) p using (number)
  where q.task_id = p_task_id and q.id = g.id;
  update task_sessions s set queue_incarnation = gen_random_uuid() where s.task_id = p_task_id and s.id = v_session.id;
  perform queue_changed(p_task_id, v_session.id);
  perform queue_wake(p_task_id, v_session.id);
  return queue_of(p_task_id, v_session.id);
end
$$;

comment on function planledger.queue_reorder(uuid, text, text, uuid[], uuid) is
  'Puts the entries that wait into the order of p_entry_ids, which names all of them, each once; otherwise, or where the queue is not at p_queue_incarnation (when given), queue_changed. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, queue_changed, plan_busy, isolation_not_supported.';
