import { PlanledgerError } from '../../ledger/errors.ts';
import type { CommentSnapshot, PlanComment } from '../../ledger/generated.ts';

/**
 * A comment as it was listed a moment before. Its version is the one that a command means, and is checked under the lock.
 *
 * @throws PlanledgerError `plan_comments_changed` where no such comment is pending.
 */
export function pendingComment({ task_id, comments }: CommentSnapshot, id: string): PlanComment {
  const found = comments.find((one) => one.id === id.toLowerCase());
  if (found !== undefined) return found;
  throw new PlanledgerError('plan_comments_changed', `Task ${task_id} has no pending comment ${id}.`, {
    operation: 'list_comments',
    taskId: task_id,
    nextAction: `\`planledger comment list ${task_id}\` lists those it has.`,
  });
}
