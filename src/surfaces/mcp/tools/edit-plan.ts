import { z } from 'zod';
import { allowTruncation, expectedVersion, requestId } from '../parameters.ts';
import { acknowledgement, acknowledgementSchema } from '../results.ts';
import { defineTool } from '../tool.ts';

export const editPlan = defineTool({
  name: 'edit_task_plan_kandev',
  title: 'Edit task plan',
  operation: 'edit',
  scope: 'plan:write',
  description: `Replaces one exact, unique fragment of the plan and leaves every other byte as it is. To tick a checklist item, for example, send old_text "- [ ] Write the tests" and new_text "- [x] Write the tests".
old_text must occur exactly once in the plan and is compared literally, white space and line ends included: copy it from the plan as you read it. Needs the current version in expected_version.
To add a section at the end use update_task_plan_kandev with mode append. The answer gives the stored size, the revision number and the new version, not the text. A refused call changes nothing: correct it and continue.`,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  arguments: {
    expected_version: expectedVersion,
    old_text: z
      .string()
      .optional()
      .describe('The fragment to replace, copied exactly from the plan. It must occur exactly once.'),
    new_text: z.string().describe('What stands there afterwards. Send an empty text to delete the fragment.'),
    allow_truncation: allowTruncation,
    request_id: requestId,
  },
  required: ['expected_version', 'old_text', 'new_text'],
  outputSchema: acknowledgementSchema,
  async call({ ledger, ...target }, { expected_version = null, old_text = null, ...values }) {
    return acknowledgement(await ledger.planEdit({ ...target, ...values, expected_version, old_text }));
  },
});
