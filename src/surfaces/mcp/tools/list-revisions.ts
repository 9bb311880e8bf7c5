import { z } from 'zod';
import { nullable, resultSchema, structured } from '../results.ts';
import { defineTool } from '../tool.ts';

const time = { type: 'string', format: 'date-time' };

export const listRevisions = defineTool({
  name: 'list_task_plan_revisions_kandev',
  title: 'List task plan revisions',
  operation: 'list_revisions',
  scope: 'plan:read',
  description: `Lists the revisions of a task's plan, newest first, without their text: id, number, title, author, times, size and, for a restored one, its source. The history stays when the plan is deleted.
Where there are more, next_before_revision_number is set; send it as before_revision_number to get the next page. get_task_plan_revision_kandev returns the text of one.`,
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true },
  arguments: {
    before_revision_number: z
      .int32()
      .optional()
      .describe('Only revisions with a smaller number. Leave it out to begin with the newest.'),
    limit: z
      .int32()
      .optional()
      .describe('How many revisions to return at most; a page of moderate size when left out.'),
  },
  required: [],
  outputSchema: resultSchema({
    task_id: { type: 'string' },
    revisions: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          id: { type: 'string' },
          revision_number: { type: 'integer' },
          title: { type: 'string' },
          author_kind: { type: 'string', enum: ['agent', 'user'] },
          author_name: { type: 'string' },
          restored_from: nullable('string', 'id of the revision it was restored from'),
          content_bytes: { type: 'integer' },
          created_at: time,
          updated_at: time,
        },
        required: ['id', 'revision_number', 'title', 'author_kind', 'author_name', 'content_bytes'],
      },
    },
    next_before_revision_number: nullable('integer', 'null on the last page'),
  }),
  async call({ ledger, ...target }, page) {
    const rows = await ledger.revisionList({ ...target, ...page });
    const revisions = rows.map(({ next_before_revision_number: _, task_id: __, created_at, updated_at, ...row }) => ({
      ...row,
      created_at: created_at.toISOString(),
      updated_at: updated_at.toISOString(),
    }));
    const next = rows[0]?.next_before_revision_number ?? null;
    return structured([], { task_id: target.task_id, revisions, next_before_revision_number: next });
  },
});
