import type { Logger } from 'pino';
import type { LedgerEvent } from '../../events/feed.ts';
import { errorTable, PlanledgerError } from '../../ledger/errors.ts';
import type { Ledger, RevisionListRow } from '../../ledger/generated.ts';
import { notification } from './envelope.ts';
import { planObject, revisionObject } from './objects.ts';
import { sessionFrames, sessionKinds } from './session-frames.ts';
import type { Subscriber, Subscriptions } from './subscriptions.ts';

/** Tells subscribers what was committed. */
export interface Notifier {
  /** Tells those of the tasks that events are about, each with its state as it is now. */
  tell(events: LedgerEvent[], ledger: Ledger): Promise<void>;
  /** Tells everybody the state of their tasks: something may have been missed. */
  tellAnew(ledger: Ledger): Promise<void>;
}

/** What of a task is told as one: whichever can be read does not wait for the other. */
type Part = 'plan' | 'comments' | 'sessions';
const parts: Part[] = ['plan', 'comments', 'sessions'];

function partOf({ kind }: LedgerEvent): Part {
  if (sessionKinds.includes(kind)) return 'sessions';
  return kind === commentsChanged ? 'comments' : 'plan';
}

const framesOf: Record<Part, (ledger: Ledger, by: By, rows: LedgerEvent[], missed: boolean) => Promise<string[]>> = {
  plan: planFrames,
  comments: commentFrames,
  sessions: sessionFrames,
};

export function createNotifier(subscriptions: Subscriptions, logger: Logger): Notifier {
  /** What could not be read, and so is told with a later look. */
  let untold = new Map<string, Set<Part>>();

  return {
    async tell(events, ledger) {
      const byTask = Map.groupBy(events, ({ task_id }) => task_id);
      const earlier = untold;
      untold = new Map();
      await Promise.all(
        [...new Set([...byTask.keys(), ...earlier.keys()])].map((taskId) =>
          tellTask(ledger, taskId, byTask.get(taskId) ?? [], earlier.get(taskId)),
        ),
      );
    },
    async tellAnew(ledger) {
      untold = new Map();
      await Promise.all(subscriptions.tasks().map((taskId) => tellTask(ledger, taskId, [], new Set(parts))));
    },
  };

  /** @param missed What of its state is told besides, because it may have been missed before. */
  async function tellTask(
    ledger: Ledger,
    taskId: string,
    rows: LedgerEvent[],
    missed: Set<Part> = new Set(),
  ): Promise<void> {
    if (subscriptions.of(taskId).length === 0) return;
    const deleted = rows.some(({ kind }) => kind === 'task.deleted');
    const audience = await audienceOf(ledger, subscriptions, taskId, deleted);
    if (audience.principal === undefined) return;
    const by = { principal: audience.principal, task_id: taskId };
    if (deleted) tell(audience.subscribers, [planDeleted(taskId, null)]);
    for (const part of parts) {
      const of = rows.filter((row) => partOf(row) === part);
      if (of.length === 0 && !missed.has(part)) continue;
      try {
        tell(audience.subscribers, await framesOf[part](ledger, by, of, missed.has(part)));
      } catch (error) {
        if (!(error instanceof PlanledgerError) || errorTable[error.code].sqlState === null) throw error;
        postpone(taskId, part, error, missed.has(part));
      }
    }
  }

  /** A plan that cannot be read, or whom it was read for having lost the task, keeps nobody else from being told. */
  function postpone(taskId: string, part: Part, { code, operation }: PlanledgerError, again: boolean): void {
    untold.set(taskId, (untold.get(taskId) ?? new Set()).add(part));
    if (!again) logger.warn({ code, operation, task_id: taskId }, 'cannot be notified; trying again');
  }
}

interface Audience {
  subscribers: Subscriber[];
  /** One of the audience, for whom the state is read. */
  principal: string | undefined;
}

/**
 * Who may be told of a task now. The others are told nothing any more, but for its deletion, which ends a subscription
 * too: of that all hear whose tokens work.
 */
async function audienceOf(
  ledger: Ledger,
  subscriptions: Subscriptions,
  taskId: string,
  deleted = false,
): Promise<Audience> {
  const asked = subscriptions.of(taskId);
  const token_ids = [...new Set(asked.map(({ subscriber }) => subscriber.tokenId))];
  const rows = await ledger.eventAudience({ task_id: taskId, token_ids });
  const byToken = new Map(rows.map((row) => [row.token_id, row]));
  const subscribers = asked.flatMap((subscription) => {
    const { subscriber } = subscription;
    const row = byToken.get(subscriber.tokenId);
    if (row?.reaches) return subscriber;
    subscriptions.end(taskId, subscription);
    if (row === undefined) subscriber.tokenEnded();
    else if (deleted || row.task_gone) tell([subscriber], [planDeleted(taskId, null)]);
    return [];
  });
  return { subscribers, principal: rows.find(({ reaches }) => reaches)?.principal_id };
}

function planDeleted(task_id: string, plan_id: string | null): string {
  return notification('task.plan.deleted', { task_id, plan_id });
}

function tell(subscribers: Subscriber[], frames: string[]): void {
  for (const subscriber of subscribers) for (const frame of frames) subscriber.send(frame);
}

const commentsChanged = 'plan.comments_changed';

interface By {
  principal: string;
  task_id: string;
}

async function commentFrames(ledger: Ledger, by: By): Promise<string[]> {
  return [notification('task.plan.comments.changed', await ledger.commentList(by))];
}

/**
 * The notifications of a plan's events, in their order, or of its state alone where there are none. What would be sent
 * twice with one state is sent once.
 */
async function planFrames(ledger: Ledger, by: By, rows: LedgerEvent[], missed: boolean): Promise<string[]> {
  const isPlan = ({ kind }: LedgerEvent) => kind in planActions;
  if (!missed && !rows.some(isPlan)) return [];
  const plan = await ledger.planGet(by);
  if (missed)
    return [plan === null ? planDeleted(by.task_id, null) : notification('task.plan.updated', planObject(plan))];
  const revisions = await revisionsOf(ledger, by, rows);
  const last = new Map(rows.map((row) => [planActions[row.kind], row.id]));

  return rows.filter(isPlan).flatMap((row) => {
    const action = planActions[row.kind] ?? '';
    if (row.kind === 'plan.deleted') return [planDeleted(by.task_id, row.plan_id)];
    const revision = row.revision_number === null ? undefined : revisions.get(row.revision_number);
    return [
      // A plan that is gone again by now is told by the event of its deletion.
      ...(last.get(action) === row.id && plan !== null ? [notification(action, planObject(plan))] : []),
      ...(revision === undefined
        ? []
        : [notification('task.plan.revision.created', { ...revisionObject(revision), coalesced: row.coalesced })]),
      ...(revision === undefined || row.restored_from === null
        ? []
        : [notification('task.plan.reverted', revisionObject(revision))]),
    ];
  });
}

const planActions: Record<string, string> = {
  'plan.created': 'task.plan.created',
  'plan.updated': 'task.plan.updated',
  'plan.deleted': 'task.plan.deleted',
  'plan.implementation_started': 'task.plan.updated',
};

/** The revisions that events wrote, without their text, by number. */
async function revisionsOf(ledger: Ledger, by: By, rows: LedgerEvent[]): Promise<Map<number, RevisionListRow>> {
  const numbers = rows.flatMap(({ revision_number }) => revision_number ?? []);
  const found = new Map<number, RevisionListRow>();
  if (numbers.length === 0) return found;
  const oldest = Math.min(...numbers);
  for (let before = Math.max(...numbers) + 1; before > oldest; ) {
    const page = await ledger.revisionList({
      ...by,
      before_revision_number: before,
      limit: Math.min(before - oldest, 100),
    });
    for (const revision of page) found.set(revision.revision_number, revision);
    before = page.at(-1)?.revision_number ?? oldest;
  }
  return found;
}
