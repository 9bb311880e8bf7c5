-- In this order: replay, session, comments, prompt, capacity, files, rows, job. Anything
-- that fails takes all of it back, so that no comment is consumed by a refused request.
create or replace function planledger.delivery_accept(
  p_operation text,
  p_action text,
  p_principal uuid,
  p_task_id text,
  p_session_id text,
  p_client_id text,
  p_content text,
  p_references jsonb,
  p_require_primary boolean,
  p_plan_mode boolean,
  p_attachment_ids uuid[],
  p_lease xid8,
  p_rerouted_session_id text
)
returns planledger.delivery
language plpgsql volatile
set search_path = planledger, pg_temp
as $$
declare
  v_caller caller;
  v_references comment_references;
  v_request_sha256 bytea;
  v_delivery delivery;
  v_session session;
  v_prompt text;
  v_comments jsonb;
  v_id uuid := gen_random_uuid();
begin
  perform require_read_committed(p_operation, p_task_id);
  perform require_labels(p_operation, p_task_id);
  perform require_label('session_id', p_session_id, p_operation, p_task_id);
  perform require_label(case p_action when 'message' then 'client_message_id' else 'client_queue_id' end,
    p_client_id, p_operation, p_task_id);
  v_references := references_check(p_operation, p_task_id, p_references);
  if p_content is null or (p_content = '' and cardinality(v_references.ids) = 0) then
    perform refuse_argument('content', 'content is required; it may be empty only where comments are named.',
      p_operation, p_task_id, false);
  end if;
  v_caller := reach(p_operation, p_principal, p_task_id, 'task:write');
  if cardinality(v_references.ids) > 0 then
    perform reach(p_operation, p_principal, p_task_id, 'plan:write');
  end if;
  if p_rerouted_session_id is not null and p_lease is null then
    perform refuse_argument('rerouted_session_id', 'rerouted_session_id is for turn-start hooks, and needs lease.',
      p_operation, p_task_id, true);
  end if;
  v_request_sha256 := delivery_digest(p_session_id, p_content, v_references, p_attachment_ids, p_plan_mode, p_require_primary);

  perform admission_lock(p_operation, p_principal, p_task_id, 'task:write', p_plan => false, p_lease => p_lease);
  v_delivery := delivery_replay(p_operation, p_principal, p_task_id, p_client_id, v_request_sha256);
  if v_delivery.id is not null then
    return v_delivery;
  elsif exists (select from tasks t where t.id = p_task_id and t.archived_at is not null) then
    perform refuse_argument('task_id', 'The task is archived and takes no prompts.', p_operation, p_task_id, true);
  end if;
  v_session := session_lock(p_operation, p_task_id, coalesce(p_rerouted_session_id, p_session_id));
  perform session_check(p_operation, p_task_id, v_session, p_action, coalesce(p_require_primary, false));
  if v_session.transport = 'passthrough' and cardinality(p_attachment_ids) > 0 then
    perform refuse_argument('attachments', 'The agent of this session is a terminal program, which takes no files.',
      p_operation, p_task_id, true);
  end if;

  v_prompt := prompt_for(p_operation, p_task_id, v_session.transport, p_content, v_references.ids, v_references.versions);
  select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'version', c.version) order by c.place), '[]') into v_comments
  from unnest(v_references.ids, v_references.versions) with ordinality as c (id, version, place);

  insert into deliveries (task_id, client_id, id, session_id, action, principal_id, request_sha256, message_id)
  values (p_task_id, p_client_id, v_id, v_session.id, p_action, p_principal, v_request_sha256,
    case p_action when 'message' then v_id end);
  perform attachments_claim(p_operation, p_principal, p_task_id, coalesce(p_attachment_ids, '{}'), v_id);
  insert into receipts (task_id, id, session_id, dispatch_id)
  values (p_task_id, v_id, v_session.id, case p_action when 'message' then v_id end);
  if p_action = 'message' then
    insert into session_messages (task_id, id, session_id, role, content, client_id, comments, plan_mode, author_id, author_name)
    values (p_task_id, v_id, v_session.id, 'user', v_prompt, p_client_id, v_comments, coalesce(p_plan_mode, false),
      p_principal, v_caller.author_name);
    insert into events (task_id, kind, session_id, message_id) values (p_task_id, 'message.added', v_session.id, v_id);
    perform session_begin_turn(p_task_id, v_session.id, v_id);
    perform receipt_job(p_task_id, v_id);
  else
    insert into queue_entries (task_id, id, session_id, place, content, comments, plan_mode, author_id, author_kind, author_name)
    values (p_task_id, v_id, v_session.id, queue_next_place(p_task_id, v_session.id), v_prompt, v_comments,
      coalesce(p_plan_mode, false), p_principal, v_caller.author_kind, v_caller.author_name);
    perform queue_changed(p_task_id, v_session.id);
    perform queue_wake(p_task_id, v_session.id);
  end if;
  return delivery_of(p_task_id, p_client_id);
end
$$;

comment on function planledger.delivery_accept(text, text, uuid, text, text, text, text, jsonb, boolean, boolean, uuid[], xid8, text) is
  'Accepts a prompt as a direct message or into the queue (p_action message or queue), whole or not at all. What the arguments are, message_add and queue_add say.';
