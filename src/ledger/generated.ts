// Written from the database by `npm run snapshot`. Do not edit.

import type { CallOptions } from './ledger.ts';

/** A row of `admission_lease`. */
export interface AdmissionLeaseRow {
  lease: string;
  hooks_max_ms: number;
}

/** A row of `agent_end`. */
export interface AgentEndRow {
}

/** A row of `agent_ready`. */
export interface AgentReadyRow {
}

/** A row of `agent_say`. */
export interface AgentSayRow {
}

/** A row of `agent_start`. */
export interface AgentStartRow {
  outcome: string;
  agent_token: string | null;
  agent_name: string | null;
  transport: string | null;
}

/** A row of `agent_turn_end`. */
export interface AgentTurnEndRow {
}

/** A row of `agents_tend`. */
export interface AgentsTendRow {
  task_id: string;
  session_id: string;
  agent_token: string;
  wanted: boolean;
  cancel_turn_id: string | null;
  receipt_id: string | null;
}

/** A row of `attachment_get`. */
export interface AttachmentGetRow {
  id: string;
  name: string;
  media_type: string;
  content: Uint8Array;
}

/** A row of `attachment_max_bytes`. */
export interface AttachmentMaxBytesRow {
  attachment_max_bytes: number;
}

/** A row of `attachment_stage`. */
export interface AttachmentStageRow {
  id: string;
  task_id: string;
  name: string;
  media_type: string;
  bytes: number;
  created_at: Date;
}

/** A row of `attachments_prune`. */
export interface AttachmentsPruneRow {
  attachments_prune: string;
}

/** A row of every comment function: all pending comments of a task, in one committed state. */
export interface CommentSnapshot {
  task_id: string;
  plan_id: string | null;
  revision: number;
  comments: PlanComment[];
}

/** A row of `content_max_bytes`. */
export interface ContentMaxBytesRow {
  content_max_bytes: number;
}

/** A row of every function that accepts a prompt. */
export interface Delivery {
  id: string;
  task_id: string;
  session_id: string;
  action: string;
  client_id: string;
  state: string;
  content: string;
  comments: CommentReference[];
  replayed: boolean;
  created_at: Date;
}

/** A row of `error_catalog`. */
export interface ErrorCatalogRow {
  code: string;
  sqlstate: string;
  retry_safe: boolean;
  message: string;
  next_action: string;
}

/** A row of `event_audience`. */
export interface EventAudienceRow {
  token_id: string;
  principal_id: string;
  reaches: boolean;
  task_gone: boolean;
}

/** A row of `events_prune`. */
export interface EventsPruneRow {
  events_prune: string;
}

/** A row of `events_read`. */
export interface EventsReadRow {
  cursor: string;
  server_started_at: Date;
  reset: boolean;
  id: string | null;
  task_id: string | null;
  kind: string | null;
  plan_id: string | null;
  revision_id: string | null;
  revision_number: number | null;
  coalesced: boolean | null;
  restored_from: string | null;
  session_id: string | null;
  message_id: string | null;
}

/** A row of `installation`. */
export interface InstallationRow {
  migration: string | null;
  program_version: string;
  functions_sha256: string;
}

/** A row of every function of transcripts. */
export interface Message {
  id: string;
  task_id: string;
  session_id: string;
  role: string;
  kind: string;
  content: string;
  client_id: string | null;
  comments: CommentReference[];
  attachments: Attachment[];
  plan_mode: boolean;
  author_name: string;
  created_at: Date;
}

/** A row of every plan write. */
export interface PlanWriteAck {
  task_id: string;
  plan_id: string;
  outcome: string;
  title: string;
  content_bytes: number;
  content_chars: number;
  revision_number: number;
  revision_id: string;
  version: string;
  coalesced: boolean;
  replayed: boolean;
}

/** A row of `plan_delete`. */
export interface PlanDeleteRow {
  task_id: string;
  plan_id: string;
  replayed: boolean;
}

/** A row of `plan_get`. */
export interface PlanGetRow {
  id: string;
  task_id: string;
  title: string;
  content: string;
  version: string;
  revision_number: number;
  revision_id: string;
  content_bytes: number;
  content_chars: number;
  created_by: string;
  created_at: Date;
  updated_at: Date;
  implementation_started_at: Date | null;
  implementation_started_session_id: string | null;
  implementation_started_by: string | null;
}

/** A row of `plan_mark_implementation_started`. */
export interface PlanMarkImplementationStartedRow {
  plan_id: string;
  implementation_started_at: Date;
  implementation_started_session_id: string;
  implementation_started_by: string;
}

/** A row of `principal_create`. */
export interface PrincipalCreateRow {
  id: string;
  kind: string;
  display_name: string | null;
  scopes: string[];
  task_id: string | null;
  session_id: string | null;
}

/** A row of every function of a queue. */
export interface Queue {
  task_id: string;
  session_id: string;
  queue_incarnation: string;
  entries: QueueEntry[];
  count: number;
  max: number;
  auto_run: boolean;
}

/** A row of `receipt_acknowledge`. */
export interface ReceiptAcknowledgeRow {
}

/** A row of `receipt_attachments`. */
export interface ReceiptAttachmentsRow {
  id: string;
  name: string;
  media_type: string;
  content: Uint8Array;
}

/** A row of every function that shows receipts. */
export interface Receipt {
  id: string;
  task_id: string;
  session_id: string;
  client_id: string;
  action: string;
  state: string;
  attempts: number;
  retryable: boolean;
  failure: string | null;
  lease_holder: string | null;
  lease_expires_at: Date | null;
  not_before: Date | null;
  created_at: Date;
  attempted_at: Date | null;
  ended_at: Date | null;
  dismissed_at: Date | null;
}

/** A row of `receipt_end_attempt`. */
export interface ReceiptEndAttemptRow {
}

/** A row of `receipt_mark_attempted`. */
export interface ReceiptMarkAttemptedRow {
  outcome: string;
  message_id: string | null;
  content: string | null;
  plan_mode: boolean | null;
  attachment_ids: string[] | null;
}

/** A row of `receipt_release`. */
export interface ReceiptReleaseRow {
  receipt_release: string;
}

/** A row of `receipt_reserve`. */
export interface ReceiptReserveRow {
  outcome: string;
  lease_token: string | null;
  lease_expires_at: Date | null;
  session_id: string | null;
  agent_name: string | null;
  transport: string | null;
  agent_token: string | null;
  has_attachments: boolean | null;
}

/** A row of `receipts_prune`. */
export interface ReceiptsPruneRow {
  receipts_prune: string;
}

/** A row of `receipts_reconcile`. */
export interface ReceiptsReconcileRow {
  released: string;
  woken: string;
  cleared: string;
}

/** A row of `requests_prune`. */
export interface RequestsPruneRow {
  requests_prune: string;
}

/** A row of `revision_get`. */
export interface RevisionGetRow {
  id: string;
  task_id: string;
  revision_number: number;
  title: string;
  content: string;
  revision_version: string;
  author_kind: string;
  author_name: string;
  restored_from: string | null;
  content_bytes: number;
  created_at: Date;
  updated_at: Date;
}

/** A row of `revision_list`. */
export interface RevisionListRow {
  id: string;
  task_id: string;
  revision_number: number;
  title: string;
  author_kind: string;
  author_name: string;
  restored_from: string | null;
  content_bytes: number;
  created_at: Date;
  updated_at: Date;
  next_before_revision_number: number | null;
}

/** A row of every function of sessions. */
export interface Session {
  id: string;
  task_id: string;
  name: string;
  agent_name: string;
  state: string;
  accepts: string;
  is_primary: boolean;
  transport: string | null;
  failure: string | null;
  turn_id: string;
  auto_run: boolean;
  queue_max: number;
  queue_incarnation: string;
  created_at: Date;
  updated_at: Date;
}

/** A row of `settings_change`. */
export interface SettingsChangeRow {
  coalesce_window: string;
  lock_wait: string;
}

/** A row of `task_archive`. */
export interface TaskArchiveRow {
  id: string;
  archived_at: Date;
}

/** A row of `task_create`. */
export interface TaskCreateRow {
  id: string;
  workspace_id: string;
  parent_task_id: string | null;
  title: string;
  created_at: Date;
}

/** A row of `task_delete`. */
export interface TaskDeleteRow {
  id: string;
}

/** A row of `task_get`. */
export interface TaskGetRow {
  id: string;
  workspace_id: string;
  parent_task_id: string | null;
  title: string;
  created_at: Date;
  archived_at: Date | null;
}

/** A row of `task_list`. */
export interface TaskListRow {
  id: string;
  workspace_id: string;
  parent_task_id: string | null;
  title: string;
  created_at: Date;
  archived_at: Date | null;
  plan_title: string | null;
  plan_revision_number: number | null;
}

/** A row of `token_authenticate`. */
export interface TokenAuthenticateRow {
  token_id: string;
  principal_id: string;
  kind: string;
  display_name: string | null;
  scopes: string[];
  workspace_id: string;
  task_id: string | null;
  session_id: string | null;
  expires_at: Date | null;
}

/** A row of `token_create`. */
export interface TokenCreateRow {
  id: string;
  token: string;
  expires_at: Date | null;
}

/** A row of `token_list`. */
export interface TokenListRow {
  id: string;
  name: string;
  principal_id: string;
  kind: string;
  display_name: string | null;
  workspace_id: string;
  task_id: string | null;
  scopes: string[];
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  works: boolean;
}

/** A row of `token_revoke`. */
export interface TokenRevokeRow {
  id: string;
  name: string;
  revoked_at: Date;
}

/** A row of `workspace_create`. */
export interface WorkspaceCreateRow {
  id: string;
  name: string;
}

/** A pending comment of a snapshot. */
export interface PlanComment {
  id: string;
  task_id: string;
  plan_id: string;
  body: string;
  selected_text: string;
  anchor_from: number;
  anchor_to: number;
  version: number;
  created_at: string;
  updated_at: string;
}

/** A comment as a request names it. */
export interface CommentReference {
  id: string;
  version: number;
}

/** A file that a prompt carries. */
export interface Attachment {
  id: string;
  name: string;
  media_type: string;
  bytes: number;
}

/** A prompt that waits in a queue. */
export interface QueueEntry {
  id: string;
  client_queue_id: string;
  content: string;
  comments: CommentReference[];
  plan_mode: boolean;
  author_kind: string;
  author_name: string;
  created_at: string;
  updated_at: string;
}

/** One method for each function of the schema; its text is the comment on that function. */
export interface Ledger {
  /** Keeps every other admission, change of comments and plan deletion away from a task while turn-start hooks run, until the calling transaction ends; plan writes go on. Answers lease, which message_add, queue_add and queue_append take as p_lease on another connection, and hooks_max_ms, how long the hooks may take: less than those others wait. A transaction that stays idle for three times settings.lock_wait is ended. Takes the lease lock. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported. */
  admissionLease(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<AdmissionLeaseRow>;
  /** Gives the lease on an agent back, whose process has ended; p_failure says why, for people, where nobody asked it to. A turn that it was in is over; an agent that could not start is tried again after 1, 4, 16 and 64 seconds, and after five attempts its session fails. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported. */
  agentEnd(values: { task_id: string | null; token: string | null; failure?: string | null | undefined }, options?: CallOptions): Promise<AgentEndRow>;
  /** Says that the agent runs and waits for a prompt, and so does a session that was starting. p_token: of its lease. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported. */
  agentReady(values: { task_id: string | null; token: string | null }, options?: CallOptions): Promise<AgentReadyRow>;
  /** Writes what an agent says into the transcript: p_kind message, thought, tool (what it does) or terminal (what its program shows), p_content 1 to 1,048,576 bytes. p_message_id, of the caller's, makes a repeat harmless. p_token: of the lease on the agent. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported. */
  agentSay(values: { task_id: string | null; token: string | null; kind: string | null; content: string | null; message_id: string | null }, options?: CallOptions): Promise<AgentSayRow>;
  /** Takes the lease on the agent of a session that has none yet, for p_lease (1 second to 1 hour), and has the session be STARTING: outcome started. held: another worker is at it; ended: there is nothing to start. p_holder (1 to 200 characters) names the worker, each process with a name of its own. Takes the session lock. Raises validation_error, plan_busy, isolation_not_supported. */
  agentStart(values: { task_id: string | null; session_id: string | null; holder: string | null; lease?: string | null | undefined }, options?: CallOptions): Promise<AgentStartRow>;
  /** Says that an agent is done with the prompt p_turn_id, with p_failure, for people, where it came to nothing; the session waits for the next, and what is next in its queue goes out. A turn that is over already is left alone. Takes the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported. */
  agentTurnEnd(values: { task_id: string | null; token: string | null; turn_id: string | null; failure?: string | null | undefined }, options?: CallOptions): Promise<AgentTurnEndRow>;
  /** Renews the leases p_tokens of the worker p_holder on agents, whose processes run, for p_lease (1 second to 1 hour) from now, and answers those it still has; any other ends by itself: wanted is false where the session has ended and so should the agent; cancel_turn_id, the turn that somebody wants cancelled; receipt_id, a prompt that waits for this agent. Takes no lock but that of the rows it renews, and waits for none. Raises validation_error. */
  agentsTend(values: { holder: string | null; tokens: string[]; lease?: string | null | undefined }, options?: CallOptions): Promise<AgentsTendRow[]>;
  /** A file that a prompt carries, or that the caller has staged. Takes no lock. Raises validation_error, task_unreachable, attachment_not_found. */
  attachmentGet(values: { principal: string; task_id: string | null; attachment_id: string | null }, options?: CallOptions): Promise<AttachmentGetRow>;
  /** The largest file that may be staged, in bytes. A constant, not a setting. */
  attachmentMaxBytes(values: {  }, options?: CallOptions): Promise<AttachmentMaxBytesRow>;
  /** Keeps a file of 1 to attachment_max_bytes() bytes for a prompt that names its id (p_attachments) within a day; then it goes. p_name: 1 to 200 characters without /, \ and control characters; p_media_type: a type and a subtype, at most 200 characters. p_attachment_id (absent: a new one) makes a repeat harmless: with the same file, sent or not, it is answered as it is stored. Takes the lease (shared) and admission locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported. */
  attachmentStage(values: { principal: string; task_id: string | null; name: string | null; media_type: string | null; content: Uint8Array; attachment_id?: string | null | undefined }, options?: CallOptions): Promise<AttachmentStageRow>;
  /** Deletes files that were staged longer ago than p_keep (1 hour or more) and never sent, and answers how many. For administrators and the program's cron; safe at any time. Raises validation_error. */
  attachmentsPrune(values: { keep?: string | null | undefined }, options?: CallOptions): Promise<AttachmentsPruneRow>;
  /** Adds a comment to the plan p_plan_id, which must be the task's current one. p_comment_id: the caller's UUID, which makes a repeat harmless; p_body: 1 to 65,536 bytes and not only white space; p_selected_text: 1 to 262,144 bytes; 0 <= p_anchor_from <= p_anchor_to. A plan has at most 100 pending comments with 1,048,576 bytes in all. An id that was used before changes nothing: with the same data, or once its comment was deleted or delivered, the call succeeds. Takes the lease (shared) and admission locks, then the task row. Answers the snapshot. Raises validation_error, task_unreachable, comment_body_too_large, comment_selection_too_large, plan_busy, task_not_found, comment_id_conflict, plan_comments_changed, comment_limit_exceeded, isolation_not_supported. */
  commentCreate(values: { principal: string; task_id: string | null; plan_id: string | null; comment_id: string | null; body: string | null; selected_text: string | null; anchor_from: number; anchor_to: number }, options?: CallOptions): Promise<CommentSnapshot>;
  /** Deletes a pending comment of the current plan p_plan_id that is at p_expected_version; its id stays used. Takes the lease (shared) and admission locks, then the task row. Answers the snapshot. Raises validation_error, task_unreachable, plan_busy, task_not_found, plan_comments_changed, isolation_not_supported. */
  commentDelete(values: { principal: string; task_id: string | null; plan_id: string | null; comment_id: string | null; expected_version: number }, options?: CallOptions): Promise<CommentSnapshot>;
  /** The pending comments of p_task_id, all of them, with the plan they are about and their revision; without a plan none, at revision 0. Takes no lock. Raises validation_error, task_unreachable. */
  commentList(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<CommentSnapshot>;
  /** Replaces the body (1 to 65,536 bytes, not only white space) of a pending comment of the current plan p_plan_id that is at p_expected_version; its version rises by one. Takes the lease (shared) and admission locks, then the task row. Answers the snapshot. Raises validation_error, task_unreachable, comment_body_too_large, plan_busy, task_not_found, plan_comments_changed, comment_limit_exceeded, isolation_not_supported. */
  commentUpdate(values: { principal: string; task_id: string | null; plan_id: string | null; comment_id: string | null; body: string | null; expected_version: number }, options?: CallOptions): Promise<CommentSnapshot>;
  /** The largest plan a write that admits caller text may store, in UTF-8 bytes. A constant, not a setting. */
  contentMaxBytes(values: {  }, options?: CallOptions): Promise<ContentMaxBytesRow>;
  /** What became of the request with p_client_id (its client_message_id or client_queue_id), also long after it was delivered; no row where no such request was accepted. Takes no lock. Raises validation_error, task_unreachable. */
  deliveryGet(values: { principal: string; task_id: string | null; client_id: string | null }, options?: CallOptions): Promise<Delivery | null>;
  /** Every stable error code: its SQLSTATE, whether repeating the same call is safe and may help, the message and the next action as templates. */
  errorCatalog(values: {  }, options?: CallOptions): Promise<ErrorCatalogRow[]>;
  /** Which of p_token_ids still work and, for each, whether its principal now reaches p_task_id and may read plans there, and whether that task is gone. Asked before each notification, so that a revoked token gets none. */
  eventAudience(values: { task_id: string | null; token_ids: string[] }, options?: CallOptions): Promise<EventAudienceRow[]>;
  /** Deletes the events that a snapshot stored at least p_keep ago saw, stores a new snapshot for later calls, and answers how many events it deleted. A reader that is further behind begins anew. For administrators and the program's cron; safe at any time; where another call is at it, it does nothing. Raises validation_error, isolation_not_supported. */
  eventsPrune(values: { keep?: string | null | undefined }, options?: CallOptions): Promise<EventsPruneRow>;
  /** What was committed since p_cursor, the cursor of the call before: each event once, in order within a task; one row with nulls where there is nothing. reset: the cursor is absent, of the future, or older than what was pruned, so the reader looks at every task of its interest anew. server_started_at: a reader does so too when it changes. Takes no lock. Only on the primary, and not in a transaction that writes. Raises validation_error. */
  eventsRead(values: { cursor?: string | null | undefined }, options?: CallOptions): Promise<EventsReadRow[]>;
  /** What is installed: one row for each migration applied, with the program version and the digest of db/functions applied last. */
  installation(values: {  }, options?: CallOptions): Promise<InstallationRow[]>;
  /** Accepts a prompt for a session that waits for one, which is busy from then on. p_client_message_id (1 to 200 characters) makes a repeat harmless: it is answered with the stored delivery. p_content may be empty where p_plan_comment_refs, a list of {id, version} (at most 100), names comments of the current plan; they are put before it and consumed. The prompt has at most 1,048,576 bytes. p_attachments: staged files. p_lease: the admission lease of a turn-start hook; p_rerouted_session_id: where that hook sent it. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, idempotency_conflict, session_not_found, primary_session_changed, session_terminal, session_not_promptable, plan_comments_changed, prompt_too_large, attachment_not_found, admission_lease_lost, plan_busy, isolation_not_supported. */
  messageAdd(values: { principal: string; task_id: string | null; session_id: string | null; client_message_id: string | null; content: string | null; plan_comment_refs?: CommentReference[] | null | undefined; require_primary_session?: boolean | null | undefined; plan_mode?: boolean | null | undefined; attachments?: string[] | null | undefined; lease?: string | null | undefined; rerouted_session_id?: string | null | undefined }, options?: CallOptions): Promise<Delivery>;
  /** One message of a transcript; no row where the task has none of that id. Takes no lock. Raises validation_error, task_unreachable. */
  messageGet(values: { principal: string; task_id: string | null; message_id: string | null }, options?: CallOptions): Promise<Message | null>;
  /** The transcript of a session in order: p_limit (1 to 1,000) messages, fewer where their texts come to 4 MiB. The last ones; those before p_before_message_id; or those that follow p_after_message_id. Takes no lock. Raises validation_error, task_unreachable, session_not_found. */
  messageList(values: { principal: string; task_id: string | null; session_id: string | null; before_message_id?: string | null | undefined; after_message_id?: string | null | undefined; limit?: number | null | undefined }, options?: CallOptions): Promise<Message[]>;
  /** Adds p_fragment to the end of the plan behind one blank line, at the cost of the fragment. p_title (1 to 200 characters; empty keeps the stored one); p_expected_version: checked when given; p_allow_truncation: refused when true; p_request_id (1 to 200 characters): makes a repeat harmless. The composed text has at most content_max_bytes(). Takes the plan lock. Not idempotent without p_request_id. Raises validation_error, task_unreachable, plan_content_required, plan_append_truncation_not_applicable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, plan_version_conflict, plan_content_too_large, isolation_not_supported. */
  planAppend(values: { principal: string; task_id: string | null; fragment: string | null; title?: string | null | undefined; expected_version?: string | null | undefined; allow_truncation?: boolean | null | undefined; request_id?: string | null | undefined }, options?: CallOptions): Promise<PlanWriteAck>;
  /** Creates the plan of p_task_id with p_content; where a plan exists, replaces it under the rules of plan_replace. A new plan without a title is titled Plan; p_expected_version where no plan exists is a conflict. At most content_max_bytes(). p_title (1 to 200 characters; empty keeps the stored one). Under the agent policy an existing plan needs the current p_expected_version, and a text that keeps fewer than half of 2,000 characters or more needs p_allow_truncation; p_policy browser (users only) asks for neither, checks p_expected_version when given, and may store an empty text. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_content_required, plan_content_too_large, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_version_required, plan_version_conflict, plan_truncation_rejected, plan_history_unavailable, isolation_not_supported. */
  planCreate(values: { principal: string; task_id: string | null; content: string | null; title?: string | null | undefined; expected_version?: string | null | undefined; allow_truncation?: boolean | null | undefined; request_id?: string | null | undefined; policy?: string | null | undefined }, options?: CallOptions): Promise<PlanWriteAck>;
  /** Removes the plan of p_task_id with its pending comments; the revisions stay and can be reverted to. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the lease (shared), admission and plan locks, then the task row. Raises validation_error, task_unreachable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, isolation_not_supported. */
  planDelete(values: { principal: string; task_id: string | null; request_id?: string | null | undefined }, options?: CallOptions): Promise<PlanDeleteRow>;
  /** Replaces the one occurrence of p_old_text (not empty) in the plan with p_new_text (may be empty); every other byte and the title stay. Both are literal; occurrences are counted with overlaps. Needs the current p_expected_version. The result has 1 to content_max_bytes() bytes; p_allow_truncation acknowledges a suspicious reduction. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_edit_text_required, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, plan_version_required, plan_version_conflict, plan_edit_not_found, plan_edit_ambiguous, plan_content_too_large, plan_content_required, plan_truncation_rejected, plan_history_unavailable, isolation_not_supported. */
  planEdit(values: { principal: string; task_id: string | null; expected_version: string | null; old_text: string | null; new_text: string | null; allow_truncation?: boolean | null | undefined; request_id?: string | null | undefined }, options?: CallOptions): Promise<PlanWriteAck>;
  /** The current plan of p_task_id: exact title and text with the version and revision of the same committed state; no row where there is no plan. Takes no lock. Raises validation_error, task_unreachable, plan_head_unavailable. */
  planGet(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<PlanGetRow | null>;
  /** Records, once, that implementation of the plan started, in which session of the task and by whom; later calls return the stored marker unchanged. Writes no revision and no version. Raises validation_error, task_unreachable, task_not_found, plan_not_found, isolation_not_supported. */
  planMarkImplementationStarted(values: { principal: string; task_id: string | null; session_id: string | null }, options?: CallOptions): Promise<PlanMarkImplementationStartedRow>;
  /** Replaces the whole text of the plan of p_task_id with p_content. At most content_max_bytes(). p_title (1 to 200 characters; empty keeps the stored one). Under the agent policy an existing plan needs the current p_expected_version, and a text that keeps fewer than half of 2,000 characters or more needs p_allow_truncation; p_policy browser (users only) asks for neither, checks p_expected_version when given, and may store an empty text. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_content_required, plan_content_too_large, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, plan_version_required, plan_version_conflict, plan_truncation_rejected, plan_history_unavailable, isolation_not_supported. */
  planReplace(values: { principal: string; task_id: string | null; content: string | null; title?: string | null | undefined; expected_version?: string | null | undefined; allow_truncation?: boolean | null | undefined; request_id?: string | null | undefined; policy?: string | null | undefined }, options?: CallOptions): Promise<PlanWriteAck>;
  /** Copies title and text of revision p_revision_id into a new revision that names its source; nothing else changes, and no size or truncation question arises. Needs the current p_expected_version of the plan and p_expected_revision_version of the revision. Where the plan already equals the revision, answers already_current and writes nothing. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, plan_not_found, revision_not_found, plan_version_required, plan_version_conflict, plan_revision_version_required, plan_revision_changed, plan_history_unavailable, isolation_not_supported. */
  planRestore(values: { principal: string; task_id: string | null; revision_id: string | null; expected_version: string | null; expected_revision_version: string | null; request_id?: string | null | undefined }, options?: CallOptions): Promise<PlanWriteAck>;
  /** The browser's restore, for user principals: copies title and text of revision p_revision_id into a new revision that names its source, also where the plan was deleted. p_request_id (1 to 200 characters) makes a repeat harmless. Takes the plan lock. Raises validation_error, task_unreachable, plan_busy, idempotency_conflict, plan_head_unavailable, task_not_found, revision_not_found, plan_history_unavailable, isolation_not_supported. */
  planRevert(values: { principal: string; task_id: string | null; revision_id: string | null; request_id?: string | null | undefined }, options?: CallOptions): Promise<PlanWriteAck>;
  /** Makes a principal of p_workspace_id: a user, a service, or an agent on p_task_id, whose session is p_session_id or a new one. p_display_name (1 to 200 characters) is the author name in history. p_scopes: some of plan:read, plan:write, task:read, task:write; writing includes reading. For administrators. Raises validation_error. */
  principalCreate(values: { workspace_id: string | null; kind: string | null; display_name?: string | null | undefined; scopes?: string[] | null | undefined; task_id?: string | null | undefined; session_id?: string | null | undefined }, options?: CallOptions): Promise<PrincipalCreateRow>;
  /** Accepts a prompt as an entry of its own of a session's queue, whether the session is busy or not; queue_full at its most entries. Everything else as message_add, whose ids and these share one space for each task. Raises what message_add does, but for session_not_promptable, and queue_full. */
  queueAdd(values: { principal: string; task_id: string | null; session_id: string | null; client_queue_id: string | null; content: string | null; plan_comment_refs?: CommentReference[] | null | undefined; require_primary_session?: boolean | null | undefined; plan_mode?: boolean | null | undefined; attachments?: string[] | null | undefined; lease?: string | null | undefined; rerouted_session_id?: string | null | undefined }, options?: CallOptions): Promise<Delivery>;
  /** Puts p_content, one empty line between, behind the caller's last entry that waits, or into an entry of its own where there is none, it carries comments or it asks for a plan. p_client_queue_id makes a repeat harmless, and p_lease and p_rerouted_session_id are for turn-start hooks, as in queue_add. Takes the lease (shared), admission and session locks. Raises what queue_add does. */
  queueAppend(values: { principal: string; task_id: string | null; session_id: string | null; client_queue_id: string | null; content: string | null; lease?: string | null | undefined; rerouted_session_id?: string | null | undefined }, options?: CallOptions): Promise<Delivery>;
  /** Whether the head of a queue goes out by itself when the session waits for a prompt. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported. */
  queueAutoRunSet(values: { principal: string; task_id: string | null; session_id: string | null; auto_run: boolean }, options?: CallOptions): Promise<Queue>;
  /** Empties the queue of a session, which gets a new incarnation; comments that its entries carried stay consumed. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported. */
  queueCancel(values: { principal: string; task_id: string | null; session_id: string | null }, options?: CallOptions): Promise<Queue>;
  /** Has the head of the queue go out now, whether the queue runs by itself or not; an empty queue stays as it is. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, session_not_promptable, plan_busy, isolation_not_supported. */
  queueDrain(values: { principal: string; task_id: string | null; session_id: string | null }, options?: CallOptions): Promise<Queue>;
  /** What waits in the queue of a session, in the order in which it goes out. Takes no lock. Raises validation_error, task_unreachable, session_not_found. */
  queueGet(values: { principal: string; task_id: string | null; session_id: string | null }, options?: CallOptions): Promise<Queue>;
  /** Takes one entry that waits out of the queue; comments that it carried stay consumed. A queue that is empty then gets a new incarnation. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, queue_entry_not_found, plan_busy, isolation_not_supported. */
  queueRemove(values: { principal: string; task_id: string | null; session_id: string | null; entry_id: string | null }, options?: CallOptions): Promise<Queue>;
  /** Puts the entries that wait into the order of p_entry_ids, which names all of them, each once; otherwise, or where the queue is not at p_queue_incarnation (when given), queue_changed. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, queue_changed, plan_busy, isolation_not_supported. */
  queueReorder(values: { principal: string; task_id: string | null; session_id: string | null; entry_ids: string[]; queue_incarnation?: string | null | undefined }, options?: CallOptions): Promise<Queue>;
  /** Sends the entries p_entry_ids, in that order and one empty line between, in one prompt, before anything else: at once where the session waits for a prompt; where it is in a turn that can be cancelled (transport acp), when that turn has been. p_turn_id, when given, is the turn the caller saw: queue_changed where there is another. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, session_not_promptable, queue_entry_not_found, queue_changed, prompt_too_large, plan_busy, isolation_not_supported. */
  queueSendNow(values: { principal: string; task_id: string | null; session_id: string | null; entry_ids: string[]; turn_id?: string | null | undefined }, options?: CallOptions): Promise<Queue>;
  /** Replaces the text of an entry that waits, the whole of what the agent will get; comments that it carried stay consumed. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, queue_entry_not_found, prompt_too_large, plan_busy, isolation_not_supported. */
  queueUpdate(values: { principal: string; task_id: string | null; session_id: string | null; entry_id: string | null; content: string | null }, options?: CallOptions): Promise<Queue>;
  /** Says that the agent has the prompt of an attempted receipt. Where the agent has ended meanwhile, its turn is over. Takes the task row and the session lock. Raises lease_lost, plan_busy, isolation_not_supported. */
  receiptAcknowledge(values: { task_id: string | null; token: string | null }, options?: CallOptions): Promise<ReceiptAcknowledgeRow>;
  /** The files that go out with a reserved receipt, in order; none without its token. Takes no lock. */
  receiptAttachments(values: { task_id: string | null; token: string | null }, options?: CallOptions): Promise<ReceiptAttachmentsRow[]>;
  /** Says that a person has seen that a prompt failed or was cleared and that nothing more is to be done: it leaves stuck_deliveries, and stays as it is otherwise. Once is enough; a retry takes it back. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported. */
  receiptDismiss(values: { principal: string; task_id: string | null; session_id: string | null; receipt_id: string | null }, options?: CallOptions): Promise<Receipt>;
  /** Says that the agent refused the prompt of an attempted receipt (p_state failed), or that nobody knows whether it has it (cleared), with p_failure for people; it is not sent again. The session waits for a prompt again. Takes the task row and the session lock. Raises validation_error, lease_lost, plan_busy, isolation_not_supported. */
  receiptEndAttempt(values: { task_id: string | null; token: string | null; state: string | null; failure: string | null }, options?: CallOptions): Promise<ReceiptEndAttemptRow>;
  /** How far one accepted prompt has come; no row where the task has no such receipt, or it was acknowledged long ago. Takes no lock. Raises validation_error, task_unreachable. */
  receiptGet(values: { principal: string; task_id: string | null; receipt_id: string | null }, options?: CallOptions): Promise<Receipt | null>;
  /** How far the prompts of a task have come, or those of p_session_id, or those in p_state: p_limit (1 to 1,000) of them, newest first, those before p_before_receipt_id. Takes no lock. Raises validation_error, task_unreachable, session_not_found. */
  receiptList(values: { principal: string; task_id: string | null; session_id?: string | null | undefined; state?: string | null | undefined; before_receipt_id?: string | null | undefined; limit?: number | null | undefined }, options?: CallOptions): Promise<Receipt[]>;
  /** Says that the prompt of a reserved receipt goes out now, writes it into the transcript and answers it: outcome attempted. After that it is acknowledged within p_limit (1 second to 1 hour), or cleared. refused: the task was archived or the session ended; the receipt failed. postponed: the session is in another turn; the receipt is given back. Takes the task row and the session lock. Raises lease_lost, validation_error, plan_busy, isolation_not_supported. */
  receiptMarkAttempted(values: { task_id: string | null; token: string | null; limit?: string | null | undefined }, options?: CallOptions): Promise<ReceiptMarkAttemptedRow>;
  /** Gives a reserved receipt back, because its prompt could not be made ready to go out (p_failure, for people): it is tried again later, five times in all, and answers pending or failed. Takes the task row and the session lock. Raises lease_lost, plan_busy, isolation_not_supported. */
  receiptRelease(values: { task_id: string | null; token: string | null; failure: string | null }, options?: CallOptions): Promise<ReceiptReleaseRow>;
  /** Takes a receipt, with those that go out in one prompt with it, for p_lease (1 second to 1 hour): outcome reserved, with the token that the later calls need, and whether the prompt has files (has_attachments). held: another has it; waiting: its time or turn has not come; ended: it was attempted or is gone; elsewhere: another worker runs the agent of its session, and looks for it by agents_tend. p_holder (1 to 200 characters) names the worker, each process with a name of its own. Where a worker runs the agent (transport acp or passthrough) p_holder has the lease on it too, with agent_token. An entry of the queue is taken only from its head, by a session that waits for a prompt, which is busy from then on. Takes the session lock. Raises validation_error, plan_busy, isolation_not_supported. */
  receiptReserve(values: { task_id: string | null; receipt_id: string | null; holder: string | null; lease?: string | null | undefined }, options?: CallOptions): Promise<ReceiptReserveRow>;
  /** Has a prompt that failed before it went out be tried again: one of a queue waits at its end, a direct message goes out when its session next waits for a prompt. Takes the lease (shared), admission and session locks. Raises validation_error (also for a prompt that may have arrived), task_unreachable, task_not_found, session_not_found, session_terminal, queue_full, plan_busy, isolation_not_supported. */
  receiptRetry(values: { principal: string; task_id: string | null; session_id: string | null; receipt_id: string | null }, options?: CallOptions): Promise<Receipt>;
  /** Forgets receipts acknowledged longer ago than p_keep (24 hours or more) and answers how many; the transcript stays, and a repeated request is still answered. Failed and cleared ones stay, for people. For administrators and the program's cron; safe at any time. Raises validation_error. */
  receiptsPrune(values: { keep?: string | null | undefined }, options?: CallOptions): Promise<ReceiptsPruneRow>;
  /** Puts right what workers that died have left: expired reservations are given back, attempts that nobody acknowledged are cleared and never sent again, what is pending has a job, and a session whose agent died with its worker waits for a prompt again, or is started. Answers how many of each. Leaves out sessions that somebody works on. Raises isolation_not_supported. */
  receiptsReconcile(values: {  }, options?: CallOptions): Promise<ReceiptsReconcileRow>;
  /** Forgets remembered request ids older than p_keep (24 hours or more) and answers how many. For administrators; safe at any time. Raises validation_error. */
  requestsPrune(values: { keep?: string | null | undefined }, options?: CallOptions): Promise<RequestsPruneRow>;
  /** One revision of p_task_id: exact title and text, and revision_version, which a restore must send. p_revision_id is any text; an unknown one, or a revision of another task, is revision_not_found. Takes no lock. Raises validation_error, task_unreachable, revision_not_found, plan_history_unavailable. */
  revisionGet(values: { principal: string; task_id: string | null; revision_id: string | null }, options?: CallOptions): Promise<RevisionGetRow>;
  /** Revisions of p_task_id without their text, newest first: p_limit (1 to 100) of those below p_before_revision_number (1 or more; null for the newest). next_before_revision_number, the same on each row, asks for the next page; null on the last. p_policy browser (users only): all of them. Raises validation_error, task_unreachable. */
  revisionList(values: { principal: string; task_id: string | null; before_revision_number?: number | null | undefined; limit?: number | null | undefined; policy?: string | null | undefined }, options?: CallOptions): Promise<RevisionListRow[]>;
  /** Ends a session, for good: state COMPLETED. Repeating it changes nothing. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, plan_busy, isolation_not_supported. */
  sessionClose(values: { principal: string; task_id: string | null; session_id: string | null }, options?: CallOptions): Promise<Session>;
  /** Makes a session of p_task_id, in state CREATED; where a worker runs its agent, one starts it, and where it is called over HTTP it waits for a prompt at once. p_name and p_agent_name (p_name when null; the name under which a worker knows the agent): 1 to 200 characters; p_session_id is generated when null. p_transport: acp, passthrough, webhook, or null where a program of somebody's own takes the receipts. p_is_primary: true takes the primary's place; null makes the first session primary. Takes the lease (shared) and admission locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported. */
  sessionCreate(values: { principal: string; task_id: string | null; name: string | null; session_id?: string | null | undefined; agent_name?: string | null | undefined; transport?: string | null | undefined; is_primary?: boolean | null | undefined }, options?: CallOptions): Promise<Session>;
  /** The sessions of p_task_id by creation time. Takes no lock. Raises validation_error, task_unreachable. */
  sessionList(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<Session[]>;
  /** Makes p_session_id the primary session of its task, in place of the one that was. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, plan_busy, isolation_not_supported. */
  sessionSetPrimary(values: { principal: string; task_id: string | null; session_id: string | null }, options?: CallOptions): Promise<Session>;
  /** Moves a session to p_state, with p_failure (1 to 1,000 characters, for people) where something went wrong. One that has ended stays so. Takes the lease (shared), admission and session locks. Raises validation_error, task_unreachable, task_not_found, session_not_found, session_terminal, plan_busy, isolation_not_supported. */
  sessionSetState(values: { principal: string; task_id: string | null; session_id: string | null; state: string | null; failure?: string | null | undefined }, options?: CallOptions): Promise<Session>;
  /** Changes the settings that are not null, for every process at once, and answers all of them. p_coalesce_window: zero or less means never, at most 360 days; p_lock_wait: 1 ms to 10 minutes. For administrators. Raises validation_error. */
  settingsChange(values: { coalesce_window?: string | null | undefined; lock_wait?: string | null | undefined }, options?: CallOptions): Promise<SettingsChangeRow>;
  /** Archives a task; repeating it changes nothing. Its plan stays readable and writable. Takes the lease (shared), admission and plan locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported. */
  taskArchive(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<TaskArchiveRow>;
  /** Makes a task titled p_title (1 to 200 characters), at the top of the caller's workspace or below p_parent_task_id. p_task_id is generated when null. An agent needs a parent it reaches. Raises validation_error, task_unreachable, task_not_found, isolation_not_supported. */
  taskCreate(values: { principal: string; task_id: string | null; title: string | null; parent_task_id?: string | null | undefined }, options?: CallOptions): Promise<TaskCreateRow>;
  /** Deletes a task with its plan, history and sessions, for good; refused while tasks are below it. Takes the lease (shared), admission and plan locks, then the task row. Raises validation_error, task_unreachable, task_not_found, plan_busy, isolation_not_supported. */
  taskDelete(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<TaskDeleteRow>;
  /** One task. Raises validation_error, task_unreachable. */
  taskGet(values: { principal: string; task_id: string | null }, options?: CallOptions): Promise<TaskGetRow>;
  /** The tasks p_principal reaches, by id: p_limit (1 to 1,000) of those after p_after_task_id, with the title and revision number of their plans. Raises validation_error, task_unreachable. */
  taskList(values: { principal: string; after_task_id?: string | null | undefined; limit?: number | null | undefined }, options?: CallOptions): Promise<TaskListRow[]>;
  /** Who the bearer of a token is. Takes the SHA-256 of the token (32 bytes), so that the token itself reaches no log. Raises unauthenticated for one that is unknown, expired or revoked. */
  tokenAuthenticate(values: { token_sha256: Uint8Array }, options?: CallOptions): Promise<TokenAuthenticateRow>;
  /** Makes an access token for p_principal and returns it, the only time it can be seen. p_name (1 to 200 characters) is for people; p_expires_in: lifetime, at most 100 years, null for no end. For administrators. Raises validation_error. */
  tokenCreate(values: { principal: string; name: string | null; expires_in?: string | null | undefined }, options?: CallOptions): Promise<TokenCreateRow>;
  /** Every access token (of p_workspace_id) with its principal and whether it works now; never the token itself. For administrators. */
  tokenList(values: { workspace_id?: string | null | undefined }, options?: CallOptions): Promise<TokenListRow[]>;
  /** Stops the access token with id p_token_id (not the token itself) at once; repeating it changes nothing. For administrators. Raises validation_error. */
  tokenRevoke(values: { token_id: string | null }, options?: CallOptions): Promise<TokenRevokeRow>;
  /** Makes a workspace named p_name (1 to 200 characters); p_workspace_id is generated when not given. For administrators. Raises validation_error. */
  workspaceCreate(values: { name: string | null; workspace_id?: string | null | undefined }, options?: CallOptions): Promise<WorkspaceCreateRow>;
}

/** How each method calls its function. */
export const signatures = {
  admissionLease: { function: 'admission_lease', operation: 'lease_admission', arguments: ["principal","task_id"], required: 2, writes: true, many: false },
  agentEnd: { function: 'agent_end', operation: 'end_agent', arguments: ["task_id","token","failure"], required: 2, writes: true, many: false },
  agentReady: { function: 'agent_ready', operation: 'agent_ready', arguments: ["task_id","token"], required: 2, writes: true, many: false },
  agentSay: { function: 'agent_say', operation: 'say', arguments: ["task_id","token","kind","content","message_id"], required: 5, writes: true, many: false },
  agentStart: { function: 'agent_start', operation: 'start_agent', arguments: ["task_id","session_id","holder","lease"], required: 3, writes: true, many: false },
  agentTurnEnd: { function: 'agent_turn_end', operation: 'end_turn', arguments: ["task_id","token","turn_id","failure"], required: 3, writes: true, many: false },
  agentsTend: { function: 'agents_tend', operation: 'tend_agents', arguments: ["holder","tokens","lease"], required: 2, writes: true, many: true },
  attachmentGet: { function: 'attachment_get', operation: 'get_attachment', arguments: ["principal","task_id","attachment_id"], required: 3, writes: false, many: false },
  attachmentMaxBytes: { function: 'attachment_max_bytes', operation: 'attachment_max_bytes', arguments: [], required: 0, writes: false, many: false },
  attachmentStage: { function: 'attachment_stage', operation: 'stage_attachment', arguments: ["principal","task_id","name","media_type","content","attachment_id"], required: 5, writes: true, many: false },
  attachmentsPrune: { function: 'attachments_prune', operation: 'prune_attachments', arguments: ["keep"], required: 0, writes: true, many: false },
  commentCreate: { function: 'comment_create', operation: 'create_comment', arguments: ["principal","task_id","plan_id","comment_id","body","selected_text","anchor_from","anchor_to"], required: 8, writes: true, many: false },
  commentDelete: { function: 'comment_delete', operation: 'delete_comment', arguments: ["principal","task_id","plan_id","comment_id","expected_version"], required: 5, writes: true, many: false },
  commentList: { function: 'comment_list', operation: 'list_comments', arguments: ["principal","task_id"], required: 2, writes: false, many: false },
  commentUpdate: { function: 'comment_update', operation: 'update_comment', arguments: ["principal","task_id","plan_id","comment_id","body","expected_version"], required: 6, writes: true, many: false },
  contentMaxBytes: { function: 'content_max_bytes', operation: 'content_max_bytes', arguments: [], required: 0, writes: false, many: false },
  deliveryGet: { function: 'delivery_get', operation: 'get_delivery', arguments: ["principal","task_id","client_id"], required: 3, writes: false, many: false },
  errorCatalog: { function: 'error_catalog', operation: 'error_catalog', arguments: [], required: 0, writes: false, many: true },
  eventAudience: { function: 'event_audience', operation: 'event_audience', arguments: ["task_id","token_ids"], required: 2, writes: false, many: true },
  eventsPrune: { function: 'events_prune', operation: 'prune_events', arguments: ["keep"], required: 0, writes: true, many: false },
  eventsRead: { function: 'events_read', operation: 'events_read', arguments: ["cursor"], required: 0, writes: false, many: true },
  installation: { function: 'installation', operation: 'installation', arguments: [], required: 0, writes: false, many: true },
  messageAdd: { function: 'message_add', operation: 'add_message', arguments: ["principal","task_id","session_id","client_message_id","content","plan_comment_refs","require_primary_session","plan_mode","attachments","lease","rerouted_session_id"], required: 5, writes: true, many: false },
  messageGet: { function: 'message_get', operation: 'get_message', arguments: ["principal","task_id","message_id"], required: 3, writes: false, many: false },
  messageList: { function: 'message_list', operation: 'list_messages', arguments: ["principal","task_id","session_id","before_message_id","after_message_id","limit"], required: 3, writes: false, many: true },
  planAppend: { function: 'plan_append', operation: 'append', arguments: ["principal","task_id","fragment","title","expected_version","allow_truncation","request_id"], required: 3, writes: true, many: false },
  planCreate: { function: 'plan_create', operation: 'create', arguments: ["principal","task_id","content","title","expected_version","allow_truncation","request_id","policy"], required: 3, writes: true, many: false },
  planDelete: { function: 'plan_delete', operation: 'delete', arguments: ["principal","task_id","request_id"], required: 2, writes: true, many: false },
  planEdit: { function: 'plan_edit', operation: 'edit', arguments: ["principal","task_id","expected_version","old_text","new_text","allow_truncation","request_id"], required: 2, writes: true, many: false },
  planGet: { function: 'plan_get', operation: 'get', arguments: ["principal","task_id"], required: 2, writes: false, many: false },
  planMarkImplementationStarted: { function: 'plan_mark_implementation_started', operation: 'mark_implementation_started', arguments: ["principal","task_id","session_id"], required: 3, writes: true, many: false },
  planReplace: { function: 'plan_replace', operation: 'replace', arguments: ["principal","task_id","content","title","expected_version","allow_truncation","request_id","policy"], required: 3, writes: true, many: false },
  planRestore: { function: 'plan_restore', operation: 'restore', arguments: ["principal","task_id","revision_id","expected_version","expected_revision_version","request_id"], required: 3, writes: true, many: false },
  planRevert: { function: 'plan_revert', operation: 'revert', arguments: ["principal","task_id","revision_id","request_id"], required: 3, writes: true, many: false },
  principalCreate: { function: 'principal_create', operation: 'create_principal', arguments: ["workspace_id","kind","display_name","scopes","task_id","session_id"], required: 2, writes: true, many: false },
  queueAdd: { function: 'queue_add', operation: 'add_queue_entry', arguments: ["principal","task_id","session_id","client_queue_id","content","plan_comment_refs","require_primary_session","plan_mode","attachments","lease","rerouted_session_id"], required: 5, writes: true, many: false },
  queueAppend: { function: 'queue_append', operation: 'append_to_queue', arguments: ["principal","task_id","session_id","client_queue_id","content","lease","rerouted_session_id"], required: 5, writes: true, many: false },
  queueAutoRunSet: { function: 'queue_auto_run_set', operation: 'set_queue_auto_run', arguments: ["principal","task_id","session_id","auto_run"], required: 4, writes: true, many: false },
  queueCancel: { function: 'queue_cancel', operation: 'cancel_queue', arguments: ["principal","task_id","session_id"], required: 3, writes: true, many: false },
  queueDrain: { function: 'queue_drain', operation: 'drain_queue', arguments: ["principal","task_id","session_id"], required: 3, writes: true, many: false },
  queueGet: { function: 'queue_get', operation: 'get_queue', arguments: ["principal","task_id","session_id"], required: 3, writes: false, many: false },
  queueRemove: { function: 'queue_remove', operation: 'remove_queue_entry', arguments: ["principal","task_id","session_id","entry_id"], required: 4, writes: true, many: false },
  queueReorder: { function: 'queue_reorder', operation: 'reorder_queue', arguments: ["principal","task_id","session_id","entry_ids","queue_incarnation"], required: 4, writes: true, many: false },
  queueSendNow: { function: 'queue_send_now', operation: 'send_queue_entries_now', arguments: ["principal","task_id","session_id","entry_ids","turn_id"], required: 4, writes: true, many: false },
  queueUpdate: { function: 'queue_update', operation: 'update_queue_entry', arguments: ["principal","task_id","session_id","entry_id","content"], required: 5, writes: true, many: false },
  receiptAcknowledge: { function: 'receipt_acknowledge', operation: 'acknowledge_receipt', arguments: ["task_id","token"], required: 2, writes: true, many: false },
  receiptAttachments: { function: 'receipt_attachments', operation: 'receipt_attachments', arguments: ["task_id","token"], required: 2, writes: false, many: true },
  receiptDismiss: { function: 'receipt_dismiss', operation: 'dismiss_receipt', arguments: ["principal","task_id","session_id","receipt_id"], required: 4, writes: true, many: false },
  receiptEndAttempt: { function: 'receipt_end_attempt', operation: 'end_attempt', arguments: ["task_id","token","state","failure"], required: 4, writes: true, many: false },
  receiptGet: { function: 'receipt_get', operation: 'get_receipt', arguments: ["principal","task_id","receipt_id"], required: 3, writes: false, many: false },
  receiptList: { function: 'receipt_list', operation: 'list_receipts', arguments: ["principal","task_id","session_id","state","before_receipt_id","limit"], required: 2, writes: false, many: true },
  receiptMarkAttempted: { function: 'receipt_mark_attempted', operation: 'mark_attempted', arguments: ["task_id","token","limit"], required: 2, writes: true, many: false },
  receiptRelease: { function: 'receipt_release', operation: 'release_receipt', arguments: ["task_id","token","failure"], required: 3, writes: true, many: false },
  receiptReserve: { function: 'receipt_reserve', operation: 'reserve_receipt', arguments: ["task_id","receipt_id","holder","lease"], required: 3, writes: true, many: false },
  receiptRetry: { function: 'receipt_retry', operation: 'retry_receipt', arguments: ["principal","task_id","session_id","receipt_id"], required: 4, writes: true, many: false },
  receiptsPrune: { function: 'receipts_prune', operation: 'prune_receipts', arguments: ["keep"], required: 0, writes: true, many: false },
  receiptsReconcile: { function: 'receipts_reconcile', operation: 'reconcile_receipts', arguments: [], required: 0, writes: true, many: false },
  requestsPrune: { function: 'requests_prune', operation: 'prune_requests', arguments: ["keep"], required: 0, writes: true, many: false },
  revisionGet: { function: 'revision_get', operation: 'get_revision', arguments: ["principal","task_id","revision_id"], required: 3, writes: false, many: false },
  revisionList: { function: 'revision_list', operation: 'list_revisions', arguments: ["principal","task_id","before_revision_number","limit","policy"], required: 2, writes: false, many: true },
  sessionClose: { function: 'session_close', operation: 'close_session', arguments: ["principal","task_id","session_id"], required: 3, writes: true, many: false },
  sessionCreate: { function: 'session_create', operation: 'create_session', arguments: ["principal","task_id","name","session_id","agent_name","transport","is_primary"], required: 3, writes: true, many: false },
  sessionList: { function: 'session_list', operation: 'list_sessions', arguments: ["principal","task_id"], required: 2, writes: false, many: true },
  sessionSetPrimary: { function: 'session_set_primary', operation: 'set_primary_session', arguments: ["principal","task_id","session_id"], required: 3, writes: true, many: false },
  sessionSetState: { function: 'session_set_state', operation: 'set_session_state', arguments: ["principal","task_id","session_id","state","failure"], required: 4, writes: true, many: false },
  settingsChange: { function: 'settings_change', operation: 'change_settings', arguments: ["coalesce_window","lock_wait"], required: 0, writes: true, many: false },
  taskArchive: { function: 'task_archive', operation: 'archive_task', arguments: ["principal","task_id"], required: 2, writes: true, many: false },
  taskCreate: { function: 'task_create', operation: 'create_task', arguments: ["principal","task_id","title","parent_task_id"], required: 3, writes: true, many: false },
  taskDelete: { function: 'task_delete', operation: 'delete_task', arguments: ["principal","task_id"], required: 2, writes: true, many: false },
  taskGet: { function: 'task_get', operation: 'get_task', arguments: ["principal","task_id"], required: 2, writes: false, many: false },
  taskList: { function: 'task_list', operation: 'list_tasks', arguments: ["principal","after_task_id","limit"], required: 1, writes: false, many: true },
  tokenAuthenticate: { function: 'token_authenticate', operation: 'authenticate', arguments: ["token_sha256"], required: 1, writes: false, many: false },
  tokenCreate: { function: 'token_create', operation: 'create_token', arguments: ["principal","name","expires_in"], required: 2, writes: true, many: false },
  tokenList: { function: 'token_list', operation: 'token_list', arguments: ["workspace_id"], required: 0, writes: false, many: true },
  tokenRevoke: { function: 'token_revoke', operation: 'revoke_token', arguments: ["token_id"], required: 1, writes: true, many: false },
  workspaceCreate: { function: 'workspace_create', operation: 'create_workspace', arguments: ["name","workspace_id"], required: 1, writes: true, many: false },
} as const satisfies Record<keyof Ledger, { function: string; operation: string; arguments: readonly string[]; required: number; writes: boolean; many: boolean }>;
