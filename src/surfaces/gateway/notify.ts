import type { Logger } from 'pino';
import type { LedgerEvent } from '../../events/feed.ts';
import { errorTable, PlanledgerError } from '../../ledger/errors.ts';
import type { Ledger, RevisionListRow } from '../../ledger/generated.ts';
import { notification } from './envelope.ts';
import { planObject, revisionObject } from './objects.ts';
import type { Subscriber, Subscriptions } from './subscriptions.ts';

/** What notifications are made of. */
export interface Notifier {
  ledger: Ledger;
  logger: Logger;
  subscriptions: Subscriptions;
}

/** Tells subscribers of the tasks that events are about, each with its state as it is now. */
export async function notifyOf(notifier: Notifier, events: LedgerEvent[]): Promise<void> {
  const { ledger, subscriptions } = notifier;
  const byTask = Map.groupBy(events, ({ task_id }) => task_id);
  const wanted = [...byTask.keys()].filter((taskId) => subscriptions.of(taskId).length > 0);
  await eachTask(notifier, wanted, async (taskId) => {
    const rows = byTask.get(taskId) ?? [];
    const deleted = rows.some(({ kind }) => kind === 'task.deleted');
    const { principal, subscribers } = await audienceOf(ledger, subscriptions, taskId, deleted);
    if (principal !== undefined) tell(subscribers, await frames(ledger, principal, taskId, rows));
  });
}

/** Tells every subscriber the state of their tasks: something may have been missed. */
export async function notifyAnew(notifier: Notifier): Promise<void> {
  const { ledger, subscriptions } = notifier;
  await eachTask(notifier, subscriptions.tasks(), async (taskId) => {
    const { principal, subscribers } = await audienceOf(ledger, subscriptions, taskId);
    if (principal === undefined) return;
    const by = { principal, task_id: taskId };
    const [plan, comments] = await Promise.all([ledger.planGet(by), ledger.commentList(by)]);
    tell(subscribers, [
      plan === null ? planDeleted(taskId, null) : notification('task.plan.updated', planObject(plan)),
      notification('task.plan.comments.changed', comments),
    ]);
  });
}

/** What the database refuses of one task, such as a plan that cannot be read, keeps no other from being told of. */
async function eachTask(
  { logger }: Notifier,
  taskIds: string[],
  work: (taskId: string) => Promise<void>,
): Promise<void> {
  await Promise.all(
    taskIds.map(async (taskId) => {
      try {
        await work(taskId).catch((error: unknown) => {
          // Whom it was read for has lost the task since; another of the audience may still reach it.
          if (error instanceof PlanledgerError && error.code === 'task_unreachable') return work(taskId);
          throw error;
        });
      } catch (error) {
        if (!(error instanceof PlanledgerError) || errorTable[error.code].sqlState === null) throw error;
        logger.warn({ code: error.code, operation: error.operation, task_id: taskId }, 'cannot be notified');
      }
    }),
  );
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
    if (row !== undefined && (deleted || row.task_gone)) tell([subscriber], [planDeleted(taskId, null)]);
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

/** The notifications of one task's events, in their order. What would be sent twice with one state is sent once. */
async function frames(ledger: Ledger, principal: string, taskId: string, rows: LedgerEvent[]): Promise<string[]> {
  const by = { principal, task_id: taskId };
  const has = (test: (row: LedgerEvent) => boolean) => rows.some(test);
  const isPlan = ({ kind }: LedgerEvent) => kind in planActions;
  const plan = has(isPlan) ? await ledger.planGet(by) : null;
  const comments = has(({ kind }) => kind === 'plan.comments_changed') ? await ledger.commentList(by) : null;
  const revisions = await revisionsOf(ledger, by, rows);
  const last = new Map(rows.map((row) => [planActions[row.kind] ?? row.kind, row.id]));

  return rows.flatMap((row) => {
    const action = planActions[row.kind];
    const isLast = last.get(action ?? row.kind) === row.id;
    if (row.kind === 'plan.comments_changed') {
      return isLast ? [notification('task.plan.comments.changed', comments)] : [];
    }
    if (action === undefined) return [];
    if (row.kind === 'plan.deleted') return [planDeleted(taskId, row.plan_id)];
    const revision = row.revision_number === null ? undefined : revisions.get(row.revision_number);
    return [
      // A plan that is gone again by now is told by the event of its deletion.
      ...(isLast && plan !== null ? [notification(action, planObject(plan))] : []),
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
async function revisionsOf(
  ledger: Ledger,
  by: { principal: string; task_id: string },
  rows: LedgerEvent[],
): Promise<Map<number, RevisionListRow>> {
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
