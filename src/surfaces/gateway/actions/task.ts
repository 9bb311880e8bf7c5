import { type Action, type ActionContext, defineAction, field } from '../action.ts';

/** `task.*`, subscriptions included. */
export const taskActions: Record<string, Action> = {
  'task.create': defineAction(
    { title: field.text, parent_task_id: field.text, task_id: field.text },
    ({ ledger, caller }, { title = null, parent_task_id, task_id = null }) =>
      ledger.taskCreate({ principal: caller.principal_id, task_id, title, parent_task_id }),
  ),
  'task.list': defineAction(
    { after_task_id: field.text, limit: field.integer.optional() },
    async ({ ledger, caller }, { after_task_id, limit }) => ({
      tasks: await ledger.taskList({ principal: caller.principal_id, after_task_id, limit }),
    }),
  ),
  'task.get': defineAction({ task_id: field.taskId }, ({ ledger, caller }, { task_id }) =>
    ledger.taskGet({ principal: caller.principal_id, task_id }),
  ),
  'task.archive': defineAction({ task_id: field.taskId }, ({ ledger, caller }, { task_id }) =>
    ledger.taskArchive({ principal: caller.principal_id, task_id }),
  ),
  'task.delete': defineAction({ task_id: field.taskId }, ({ ledger, caller }, { task_id }) =>
    ledger.taskDelete({ principal: caller.principal_id, task_id }),
  ),
  'task.subscribe': {
    inOrder: true,
    ...defineAction({ task_id: field.taskId }, async (context, { task_id }) => {
      // Before the state is read: what is committed after that is notified, and nothing falls between.
      const undo = context.subscriptions.add(task_id);
      try {
        return await whereItStands(context, task_id);
      } catch (error) {
        undo();
        throw error;
      }
    }),
  },
  'task.unsubscribe': {
    inOrder: true,
    ...defineAction({ task_id: field.taskId }, (context, { task_id }) => {
      context.subscriptions.remove(task_id); // whether the caller still reaches the task or not
      return whereItStands(context, task_id);
    }),
  },
};

async function whereItStands({ ledger, caller }: ActionContext, task_id: string): Promise<object> {
  const by = { principal: caller.principal_id, task_id };
  const [plan, comments] = await Promise.all([ledger.planGet(by), ledger.commentList(by)]);
  return {
    task_id,
    plan_id: plan?.id ?? null,
    version: plan?.version ?? null,
    revision_number: plan?.revision_number ?? null,
    comments_plan_id: comments.plan_id,
    comments_revision: comments.revision,
  };
}
