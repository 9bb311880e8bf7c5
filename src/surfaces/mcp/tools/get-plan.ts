import { document } from '../results.ts';
import { defineTool } from '../tool.ts';

export const getPlan = defineTool({
  name: 'get_task_plan_kandev',
  title: 'Get task plan',
  operation: 'get',
  scope: 'plan:read',
  description: `Returns the current plan of a task in two text blocks: first a JSON block with title, version, revision number, sizes and times, then the exact text of the plan, alone.
Send the version as expected_version of a write that needs one. Read before you edit or replace, after a conflict, and after a lost response; an append needs no read first. Where the task has no plan, the one block says has_plan false.`,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  arguments: {},
  required: [],
  async call({ ledger, ...target }) {
    const plan = await ledger.planGet(target);
    if (plan === null) {
      const message =
        'This task has no plan. create_task_plan_kandev makes one; revisions of a deleted plan stay listed.';
      return {
        content: [
          { type: 'text', text: JSON.stringify({ has_plan: false, task_id: target.task_id, message }, null, 2) },
        ],
      };
    }
    const { content, ...metadata } = plan;
    return document({ has_plan: true, ...metadata }, content);
  },
});
