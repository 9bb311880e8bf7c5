import { revisionId } from '../parameters.ts';
import { document } from '../results.ts';
import { defineTool } from '../tool.ts';

export const getRevision = defineTool({
  name: 'get_task_plan_revision_kandev',
  title: 'Get task plan revision',
  operation: 'get_revision',
  scope: 'plan:read',
  description: `Returns one revision of a task's plan in two text blocks: first a JSON block with its metadata and revision_version, then its exact text, alone.
restore_task_plan_revision_kandev needs the revision_version, as expected_revision_version.`,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  arguments: { revision_id: revisionId },
  required: ['revision_id'],
  async call({ ledger, ...target }, values) {
    const { content, ...metadata } = await ledger.revisionGet({ ...target, ...values });
    return document(metadata, content);
  },
});
