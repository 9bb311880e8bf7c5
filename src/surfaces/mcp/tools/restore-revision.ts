import { z } from 'zod';
import { expectedVersion, requestId, revisionId } from '../parameters.ts';
import { acknowledgement, acknowledgementSchema } from '../results.ts';
import { defineTool } from '../tool.ts';

export const restoreRevision = defineTool({
  name: 'restore_task_plan_revision_kandev',
  title: 'Restore task plan revision',
  operation: 'restore',
  scope: 'plan:write',
  description: `Makes the title and text of an earlier revision current again, as a new revision that names its source; the text it takes the place of stays in history.
Use it on your own to undo your own overwrite only when you have identified the revision to go back to and nobody has written in between. Where the intent is unclear or a person's change would be overwritten, ask the person first.
Needs the current version of the plan (expected_version) and the revision_version of the revision (expected_revision_version). Where the plan already equals the revision, the outcome is already_current and nothing is written.`,
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  arguments: {
    revision_id: revisionId,
    expected_revision_version: z
      .string()
      .optional()
      .describe('The revision_version of that revision, exactly as get_task_plan_revision_kandev returned it.'),
    expected_version: expectedVersion,
    request_id: requestId,
  },
  required: ['revision_id', 'expected_revision_version', 'expected_version'],
  outputSchema: acknowledgementSchema,
  async call({ ledger, ...target }, { expected_version = null, expected_revision_version = null, ...values }) {
    return acknowledgement(
      await ledger.planRestore({ ...target, ...values, expected_version, expected_revision_version }),
    );
  },
});
