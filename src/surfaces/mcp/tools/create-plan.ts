import { z } from 'zod';
import { validationError } from '../../../ledger/errors.ts';
import { allowTruncation, expectedVersion, requestId, title } from '../parameters.ts';
import { acknowledgement, acknowledgementSchema } from '../results.ts';
import { defineTool } from '../tool.ts';

export const createPlan = defineTool({
  name: 'create_task_plan_kandev',
  title: 'Create task plan',
  operation: 'create',
  scope: 'plan:write',
  description: `Creates the plan of a task that has none; send the whole document as content.
Where a plan exists already, this replaces the whole plan, under the same precondition as update_task_plan_kandev in mode replace: expected_version must be its current version, and whatever content leaves out is removed from the current plan. Where no plan exists, leave expected_version out.
To add a section to an existing plan use update_task_plan_kandev with mode append: it takes only the section and needs no read first.
The document may have at most {content_max_bytes} bytes of UTF-8. The answer gives the stored size, the revision number and the new version, not the text. A refused call changes nothing: correct it and continue.`,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  arguments: {
    content: z.string().optional().describe('The whole document, as Markdown. It is stored exactly as sent.'),
    title,
    expected_version: expectedVersion.describe(
      'Only where a plan exists: its current version, exactly as get_task_plan_kandev or the last write returned it. If the plan has changed since, or does not exist, the call is refused and changes nothing.',
    ),
    allow_truncation: allowTruncation,
    mode: z.string().optional().describe('Any value is refused. To append to a plan use update_task_plan_kandev.'),
    request_id: requestId,
  },
  required: ['content'],
  outputSchema: acknowledgementSchema,
  async call({ ledger, ...target }, { mode, content, ...values }) {
    if ((mode ?? '') !== '') {
      throw validationError(
        'mode',
        'create_task_plan_kandev takes no mode. To append to a plan use update_task_plan_kandev with mode append.',
        'create',
        target.task_id,
      );
    }
    return acknowledgement(await ledger.planCreate({ ...target, ...values, content: content ?? null }));
  },
});
