import type {
  PlanWriteAck as Acknowledgement,
  PlanComment as Comment,
  CommentReference,
  CommentSnapshot,
  Queue,
  QueueEntry,
  Delivery as StoredDelivery,
  Message as StoredMessage,
  Session as StoredSession,
} from '../ledger/generated.ts';

export type { Acknowledgement, Comment, CommentReference, CommentSnapshot, Queue, QueueEntry };

/** A row as JSON carries it, with times as text. */
type Json<Row> = { [Field in keyof Row]: Row[Field] extends Date ? string : Row[Field] };

/** A session of a task; `accepts` is `direct`, `queue` or `nothing`. */
export type Session = Json<StoredSession>;

/** A message of a transcript. */
export type Message = Json<StoredMessage>;

/** What became of a prompt that was accepted. */
export type Delivery = Json<StoredDelivery>;

/** The plan of a task, as the gateway shows it. */
export interface Plan {
  id: string;
  task_id: string;
  title: string;
  content: string;
  version: string;
  created_by: string;
  created_at: string;
  updated_at: string;
  implementation_started_at?: string;
  implementation_started_session_id?: string;
  implementation_started_by?: string;
}

/** One revision of a plan; with its text where it was asked for by id. */
export interface Revision {
  id: string;
  task_id: string;
  revision_number: number;
  title: string;
  content?: string;
  author_kind: string;
  author_name: string;
  revert_of_revision_id?: string;
  created_at: string;
  updated_at: string;
}

/** A task. */
export interface Task {
  id: string;
  workspace_id: string;
  parent_task_id: string | null;
  title: string;
  created_at: string;
  archived_at?: string | null;
}

type OnTask = { task_id: string };
type Document = OnTask & {
  content?: string | null;
  title?: string | null;
  /** Checked when given; agents need it where a plan exists. */
  expected_version?: string | null;
  allow_truncation?: boolean | null;
  /** An id of the caller's that makes a repeat harmless. */
  request_id?: string;
};
type OnComment = OnTask & { plan_id: string; id: string };
type OnSession = OnTask & { session_id: string };
type OnEntries = OnSession & { entry_ids: string[] };
type Prompt = OnSession & {
  content: string;
  /** The comments that go with it, in this order; they are consumed. */
  plan_comment_refs?: CommentReference[];
  require_primary_session?: boolean;
  plan_mode?: boolean;
  attachments?: string[];
};
type Written = Plan & { acknowledgement: Acknowledgement };

/** Every action: what it takes and what it answers. */
export interface Actions {
  ping: [object, object];
  'task.create': [{ title: string; parent_task_id?: string | null; task_id?: string | null }, Task];
  'task.list': [{ after_task_id?: string | null; limit?: number }, { tasks: Task[] }];
  'task.get': [OnTask, Task];
  'task.archive': [OnTask, { id: string; archived_at: string }];
  'task.delete': [OnTask, { id: string }];
  'task.subscribe': [OnTask, Subscription];
  'task.unsubscribe': [OnTask, Subscription];
  'task.plan.get': [OnTask, Plan | null];
  'task.plan.create': [Document, Written];
  'task.plan.update': [Document, Written];
  'task.plan.delete': [OnTask & { request_id?: string }, { task_id: string; plan_id: string; replayed: boolean }];
  'task.plan.revisions.list': [OnTask, { revisions: Revision[] }];
  'task.plan.revision.get': [OnTask & { revision_id: string }, Revision];
  'task.plan.revert': [OnTask & { revision_id: string; request_id?: string }, Written];
  'task.plan.implementation_started': [OnTask & { session_id: string }, object];
  'task.plan.comments.list': [OnTask, CommentSnapshot];
  'task.plan.comments.create': [
    OnComment & { body: string; selected_text: string; anchor_from: number; anchor_to: number },
    CommentSnapshot,
  ];
  'task.plan.comments.update': [OnComment & { body: string; expected_version: number }, CommentSnapshot];
  'task.plan.comments.delete': [OnComment & { expected_version: number }, CommentSnapshot];
  'task.session.create': [
    OnTask & {
      name: string;
      session_id?: string | null;
      agent_name?: string | null;
      transport?: string | null;
      is_primary?: boolean | null;
    },
    Session,
  ];
  'task.session.list': [OnTask, { sessions: Session[] }];
  'session.set_primary': [OnSession, Session];
  'session.set_state': [OnSession & { state: string; failure?: string | null }, Session];
  'session.close': [OnSession, Session];
  'message.add': [Prompt & { client_message_id: string }, Delivery];
  /** The message with `message_id`, or the delivery with an id of the client's: exactly one is given. */
  'message.get': [
    OnTask & { message_id?: string; client_message_id?: string; client_queue_id?: string },
    Message | Delivery | null,
  ];
  'message.list': [
    OnSession & { before_message_id?: string | null; after_message_id?: string | null; limit?: number },
    { messages: Message[] },
  ];
  'message.queue.add': [Prompt & { client_queue_id: string }, Delivery];
  'message.queue.append': [OnSession & { client_queue_id: string; content: string }, Delivery];
  'message.queue.get': [OnSession, Queue];
  'message.queue.update': [OnSession & { entry_id: string; content: string }, Queue];
  'message.queue.remove': [OnSession & { entry_id: string }, Queue];
  'message.queue.cancel': [OnSession, Queue];
  'message.queue.reorder': [OnEntries & { queue_incarnation?: string | null }, Queue];
  'message.queue.drain': [OnSession, Queue];
  'message.queue.auto_run.set': [OnSession & { auto_run: boolean }, Queue];
  'message.queue.send_now': [OnEntries & { turn_id?: string | null }, Queue];
}

/** Where a task stood when its notifications began; null and 0 without a plan. */
export interface Subscription {
  task_id: string;
  plan_id: string | null;
  version: string | null;
  revision_number: number | null;
  comments_plan_id: string | null;
  comments_revision: number;
}

/** What a subscriber is told, by action. */
export interface Notifications {
  'task.plan.created': Plan;
  'task.plan.updated': Plan;
  'task.plan.deleted': { task_id: string; plan_id: string | null };
  'task.plan.revision.created': Revision & { coalesced: boolean };
  'task.plan.reverted': Revision;
  'task.plan.comments.changed': CommentSnapshot;
  'task.session.changed': Session;
  'session.message.added': Message;
  'message.queue.status_changed': Queue;
}

/** One notification. */
export type Notification = {
  [Action in keyof Notifications]: { action: Action; payload: Notifications[Action] };
}[keyof Notifications];

/** Why a request was refused, or could not be answered. */
export class GatewayError extends Error {
  override name = 'GatewayError';
  /** A stable code: of the ledger in lower case, of the gateway in upper case, or `connection_lost`. */
  readonly code: string;
  /** False: nothing was written. `unknown`: the connection went before the answer; read before doing anything. */
  readonly writeApplied: false | 'unknown';
  /** What the ledger says of it: `next_action`, `current_version`, for stale comments `snapshot`, and so on. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: string,
    message: string,
    details: Record<string, unknown> = {},
    writeApplied: false | 'unknown' = false,
  ) {
    super(message);
    this.code = code;
    this.details = details;
    this.writeApplied = writeApplied;
  }
}
