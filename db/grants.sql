-- Who may do what, in full. Nothing else is granted: the owner's default privileges take
-- execute from PUBLIC. The application calls functions and touches no table; functions
-- that make principals, tokens and settings are the administrator's (planledger_owner).

grant execute on function
  planledger.plan_get(uuid, text),
  planledger.plan_create(uuid, text, text, text, text, boolean, text, text),
  planledger.plan_replace(uuid, text, text, text, text, boolean, text, text),
  planledger.plan_append(uuid, text, text, text, text, boolean, text),
  planledger.plan_edit(uuid, text, text, text, text, boolean, text),
  planledger.plan_restore(uuid, text, text, text, text, text),
  planledger.plan_revert(uuid, text, text, text),
  planledger.plan_delete(uuid, text, text),
  planledger.plan_mark_implementation_started(uuid, text, text),
  planledger.revision_list(uuid, text, integer, integer, text),
  planledger.revision_get(uuid, text, text),
  planledger.comment_list(uuid, text),
  planledger.comment_create(uuid, text, text, uuid, text, text, integer, integer),
  planledger.comment_update(uuid, text, text, uuid, text, integer),
  planledger.comment_delete(uuid, text, text, uuid, integer),
  planledger.task_create(uuid, text, text, text),
  planledger.task_list(uuid, text, integer),
  planledger.task_get(uuid, text),
  planledger.task_archive(uuid, text),
  planledger.task_delete(uuid, text),
  planledger.session_create(uuid, text, text, text, text, text, boolean),
  planledger.session_list(uuid, text),
  planledger.session_set_primary(uuid, text, text),
  planledger.session_set_state(uuid, text, text, text, text),
  planledger.session_close(uuid, text, text),
  planledger.message_add(uuid, text, text, text, text, jsonb, boolean, boolean, uuid[], xid8, text),
  planledger.queue_add(uuid, text, text, text, text, jsonb, boolean, boolean, uuid[], xid8, text),
  planledger.queue_append(uuid, text, text, text, text, xid8, text),
  planledger.queue_auto_run_set(uuid, text, text, boolean),
  planledger.queue_cancel(uuid, text, text),
  planledger.queue_drain(uuid, text, text),
  planledger.queue_get(uuid, text, text),
  planledger.queue_remove(uuid, text, text, uuid),
  planledger.queue_reorder(uuid, text, text, uuid[], uuid),
  planledger.queue_send_now(uuid, text, text, uuid[], uuid),
  planledger.queue_update(uuid, text, text, uuid, text),
  planledger.message_get(uuid, text, uuid),
  planledger.message_list(uuid, text, text, uuid, uuid, integer),
  planledger.delivery_get(uuid, text, text),
  planledger.receipt_get(uuid, text, uuid),
  planledger.receipt_list(uuid, text, text, text, uuid, integer),
  planledger.receipt_dismiss(uuid, text, text, uuid),
  planledger.receipt_retry(uuid, text, text, uuid),
  planledger.attachment_stage(uuid, text, text, text, bytea, uuid),
  planledger.attachment_get(uuid, text, uuid),
  planledger.admission_lease(uuid, text),
  planledger.token_authenticate(bytea),
  planledger.event_audience(text, uuid[]),
  planledger.events_read(text),
  planledger.error_catalog(),
  planledger.content_max_bytes(),
  planledger.attachment_max_bytes()
to planledger_app;

grant usage on type planledger.plan_write_ack, planledger.comment_snapshot, planledger.session, planledger.delivery,
  planledger.queue, planledger.message, planledger.receipt to planledger_app;

grant execute on function planledger.installation() to planledger_app, planledger_reader;

grant usage on schema planledger to planledger_worker;
grant execute on function
  planledger.events_prune(interval),
  planledger.requests_prune(interval),
  planledger.receipts_prune(interval),
  planledger.attachments_prune(interval),
  planledger.agent_start(text, text, text, interval),
  planledger.agent_ready(text, uuid),
  planledger.agent_say(text, uuid, text, text, uuid),
  planledger.agent_turn_end(text, uuid, uuid, text),
  planledger.agent_end(text, uuid, text),
  planledger.agents_tend(text, uuid[], interval),
  planledger.receipt_attachments(text, uuid),
  planledger.receipt_reserve(text, uuid, text, interval),
  planledger.receipt_mark_attempted(text, uuid, interval),
  planledger.receipt_acknowledge(text, uuid),
  planledger.receipt_end_attempt(text, uuid, text, text),
  planledger.receipt_release(text, uuid, text),
  planledger.receipts_reconcile()
to planledger_worker;

-- The view of locks computes the key of each task's.
grant execute on function planledger.lock_key(text, text) to planledger_reader;

grant select on
  planledger.plan_document,
  planledger.revision_document,
  planledger.locks,
  planledger.activity,
  planledger.plan_storage,
  planledger.pending_comments,
  planledger.receipts_by_state,
  planledger.receipt_status,
  planledger.agents,
  planledger.stuck_deliveries
to planledger_reader;
