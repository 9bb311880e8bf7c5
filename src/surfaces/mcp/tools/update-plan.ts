import { z } from 'zod';
import { validationError } from '../../../ledger/errors.ts';
import { allowTruncation, expectedVersion, requestId, title } from '../parameters.ts';
import { acknowledgement, acknowledgementSchema } from '../results.ts';
import { defineTool } from '../tool.ts';

export const updatePlan = defineTool({
  name: 'update_task_plan_kandev',
  title: 'Update task plan',
  operation: 'update',
  scope: 'plan:write',
  description: `Changes the plan of a task in one of two modes, replace (the default) and append.
append submits only the addition: content is the new section alone, one blank line is put before it, and no read is needed first. It is not idempotent: repeating the call repeats the addition, unless it carries the same request_id.
replace submits the whole document: it needs the current version in expected_version, and sending one section would delete the rest of the plan.
To add a section use append. To change a part, such as ticking a checklist item, use edit_task_plan_kandev. Do not rebuild a plan from memory.
The document may have at most {content_max_bytes} bytes of UTF-8, after an append too. The answer gives the stored size, the revision number and the new version, not the text. A refused call changes nothing: correct it and continue in the same turn. After a conflict read the plan again and reconcile; never send the old text with the new version.`,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  arguments: {
    content: z
      .string()
      .optional()
      .describe(
        'In mode append only the addition; in mode replace the whole document. Markdown, stored as sent, an addition without its leading blank lines.',
      ),
    mode: z
      .string()
      .optional()
      .describe(
        'Either replace (the default: content is the whole document) or append (content is only the addition).',
      ),
    title,
    expected_version: expectedVersion.describe(
      'The current version of the plan, exactly as get_task_plan_kandev or the last write returned it. Mode replace needs it; mode append does not, and checks it when it is sent. If the plan has changed since, the call is refused and changes nothing.',
    ),
    allow_truncation: allowTruncation.describe(
      'For mode replace only, and only when a much shorter plan is what is wanted: without it, a text with fewer than half of the characters of a long plan is refused. Never set it merely to clear that error. It does not apply to mode append.',
    ),
    request_id: requestId,
  },
  required: ['content'],
  outputSchema: acknowledgementSchema,
  async call({ ledger, ...target }, { mode = '', content = null, ...values }) {
    switch (mode) {
      case 'append':
        return acknowledgement(await ledger.planAppend({ ...target, ...values, fragment: content }));
      case '':
      case 'replace':
        return acknowledgement(await ledger.planReplace({ ...target, ...values, content }));
      default:
        throw validationError(
          'mode',
          'mode must be exactly replace or append; left out it means replace.',
          'update',
          target.task_id,
        );
    }
  },
});
