import { requestId } from '../parameters.ts';
import { resultSchema, structured } from '../results.ts';
import { defineTool } from '../tool.ts';

export const deletePlan = defineTool({
  name: 'delete_task_plan_kandev',
  title: 'Delete task plan',
  operation: 'delete',
  scope: 'plan:write',
  description: `Removes the current plan of a task together with its pending comments. Do this only when it is asked for. The revisions stay in history and can still be read.
To change or shorten a plan do not delete it: use edit_task_plan_kandev or update_task_plan_kandev.`,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  arguments: { request_id: requestId },
  required: [],
  outputSchema: resultSchema({
    outcome: { type: 'string', description: 'deleted' },
    task_id: { type: 'string' },
    plan_id: { type: 'string' },
    replayed: { type: 'boolean', description: 'true when request_id was seen before, and nothing was deleted again' },
  }),
  async call({ ledger, ...target }, values) {
    const deleted = await ledger.planDelete({ ...target, ...values });
    return structured(['The plan was deleted. Its revisions stay in history.'], { outcome: 'deleted', ...deleted });
  },
});
