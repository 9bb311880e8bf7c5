import { z } from 'zod';
import { type Action, defineAction, field } from '../action.ts';

const comment = { task_id: field.taskId, plan_id: z.string(), id: z.guid() };

/** `task.plan.comments.*`: each answers the whole snapshot. */
export const commentActions: Record<string, Action> = {
  'task.plan.comments.list': defineAction({ task_id: field.taskId }, ({ ledger, caller }, { task_id }) =>
    ledger.commentList({ principal: caller.principal_id, task_id }),
  ),
  'task.plan.comments.create': defineAction(
    {
      ...comment,
      body: z.string(),
      selected_text: z.string(),
      anchor_from: field.integer,
      anchor_to: field.integer,
    },
    ({ ledger, caller }, { id, ...values }) =>
      ledger.commentCreate({ principal: caller.principal_id, comment_id: id, ...values }),
  ),
  'task.plan.comments.update': defineAction(
    { ...comment, body: z.string(), expected_version: field.integer },
    ({ ledger, caller }, { id, ...values }) =>
      ledger.commentUpdate({ principal: caller.principal_id, comment_id: id, ...values }),
  ),
  'task.plan.comments.delete': defineAction(
    { ...comment, expected_version: field.integer },
    ({ ledger, caller }, { id, ...values }) =>
      ledger.commentDelete({ principal: caller.principal_id, comment_id: id, ...values }),
  ),
};
