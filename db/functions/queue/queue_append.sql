create or replace function planledger.queue_append(
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_client_queue_id text,
  p_content text,
  p_lease xid8 default null,
  p_rerouted_session_id text default null
)
returns planledger.delivery
language plpgsql volatile security definer
set search_path = planledger, pg_temp
as $$
declare
  c_operation constant text := 'append_to_queue';
  v_session session := session_admit(c_operation, p_principal, p_task_id, coalesce(p_rerouted_session_id, p_session_id), p_lease);
  v_last queue_entries;
begin
  select q.* into v_last
  from waiting_entries w join queue_entries q on q.task_id = w.task_id and q.id = w.id
  where w.task_id = p_task_id and w.session_id = v_session.id and q.author_id = p_principal
  order by w.place desc limit 1;
  -- Whatever is not simply joined is accepted, answered again or refused as any other entry.
  if v_last.id is null or v_last.comments <> '[]' or v_last.plan_mode or v_session.accepts = 'nothing'
    or exists (select from tasks t where t.id = p_task_id and t.archived_at is not null)
    or exists (select from deliveries d where d.task_id = p_task_id and d.client_id = p_client_queue_id) then
    return delivery_accept(c_operation, 'queue', p_principal, p_task_id, p_session_id, p_client_queue_id, p_content,
      '[]', false, false, '{}', p_lease, p_rerouted_session_id);
  end if;
  return queue_extend(c_operation, p_principal, p_task_id, v_session, v_last, p_session_id, p_client_queue_id, p_content);
end
$$;

comment on function planledger.queue_append(uuid, text, text, text, text, xid8, text) is
  'Puts p_content, one empty line between, behind the caller''s last entry that waits, or into an entry of its own where there is none, it carries comments or it asks for a plan. p_client_queue_id makes a repeat harmless, and p_lease and p_rerouted_session_id are for turn-start hooks, as in queue_add. Takes the lease (shared), admission and session locks. Raises what queue_add does.';
