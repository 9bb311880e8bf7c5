import { type Client, goneCodes } from './client.ts';
import type { Comment, CommentSnapshot, GatewayError } from './protocol.ts';

/** The pending comments of one task, kept as the database has them. */
export interface CommentStore {
  readonly snapshot: CommentSnapshot;
  /** Answers it as it is now; undefined where that id was used before, and its comment deleted or delivered since. */
  create(comment: NewComment): Promise<Comment | undefined>;
  /** Answers it as it is now. */
  edit(comment: Comment, body: string): Promise<Comment | undefined>;
  remove(comment: Comment): Promise<void>;
  /** Ends the notifications. */
  close(): void;
}

/** What a comment is made of; its id is made here, so that a repeat after a lost answer changes nothing. */
export interface NewComment {
  id?: string;
  body: string;
  selected_text: string;
  anchor_from: number;
  anchor_to: number;
}

const againMs = 1_000;

/**
 * Follows the comments of a task. A snapshot replaces the set when it is of the same plan and at least as new; another
 * plan, or a reconnect, means to list anew.
 *
 * @param onChange Called with each new snapshot.
 * @throws GatewayError where the task cannot be subscribed to, or its comments cannot be listed.
 */
export async function followComments(
  client: Client,
  taskId: string,
  onChange: (snapshot: CommentSnapshot) => void = () => {},
): Promise<CommentStore> {
  let snapshot: CommentSnapshot = { task_id: taskId, plan_id: null, revision: 0, comments: [] };
  let listing: Promise<void> | undefined;
  let again = false;
  let closed = false;

  const unsubscribe = await client.subscribe(taskId, {
    notified({ action, payload }) {
      if (action === 'task.plan.comments.changed') take(payload);
      else if (action === 'task.plan.deleted') {
        become({ task_id: taskId, plan_id: null, revision: 0, comments: [] });
        if (listing !== undefined) again = true; // its answer may be of before
      } else if (
        (action === 'task.plan.created' || action === 'task.plan.updated') &&
        payload.id !== snapshot.plan_id
      ) {
        relist();
      }
    },
    subscribed: relist,
  });
  try {
    while (listing !== undefined) await listing; // begun when the subscription did
  } catch (error) {
    close();
    throw error;
  }

  return {
    get snapshot() {
      return snapshot;
    },
    create: ({ id = crypto.randomUUID(), ...values }) =>
      change(id, client.request('task.plan.comments.create', { ...target(), id, ...values })),
    edit: ({ id, version }, body) =>
      change(id, client.request('task.plan.comments.update', { ...target(), id, body, expected_version: version })),
    async remove({ id, version }) {
      await change(id, client.request('task.plan.comments.delete', { ...target(), id, expected_version: version }));
    },
    close,
  };

  function close(): void {
    closed = true;
    unsubscribe();
  }

  function target() {
    return { task_id: taskId, plan_id: snapshot.plan_id ?? '' };
  }

  async function change(id: string, answer: Promise<CommentSnapshot>): Promise<Comment | undefined> {
    try {
      const next = await answer;
      take(next);
      return next.comments.find((comment) => comment.id === id);
    } catch (error) {
      // A stale caller gets the present state with the refusal.
      const { snapshot: present } = (error as { details?: { snapshot?: CommentSnapshot } }).details ?? {};
      if (present !== undefined) take(present);
      throw error;
    }
  }

  function take(next: CommentSnapshot): void {
    if (next.plan_id !== snapshot.plan_id) relist();
    else if (next.revision >= snapshot.revision) become(next);
  }

  function become(next: CommentSnapshot): void {
    snapshot = next;
    onChange(next);
  }

  /** Lists anew until that succeeds: a change that nobody asks for again would be missed. */
  function relist(): void {
    list().catch(({ code }: GatewayError) => {
      // After a reconnect comments are listed anyway, and what is out of reach has none to list.
      if (closed || goneCodes.has(code) || code === 'task_unreachable') return;
      setTimeout(relist, againMs);
    });
  }

  /** One at a time; who asks meanwhile gets another after it. */
  function list(): Promise<void> {
    again = listing !== undefined;
    listing ??= client
      .request('task.plan.comments.list', { task_id: taskId })
      .then((listed) => {
        if (again) return; // something came meanwhile that it may not know of
        if (listed.plan_id !== snapshot.plan_id || listed.revision >= snapshot.revision) become(listed);
      })
      .finally(() => {
        listing = undefined;
        if (again) relist();
      });
    return listing;
  }
}
