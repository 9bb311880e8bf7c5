import { z } from 'zod';

// Arguments that several tools take. Lengths and sizes are judged in SQL, so no bound stands here.

export const title = z
  .string()
  .optional()
  .describe('Title of the plan. Empty or left out keeps the stored title; a new plan without one is titled "Plan".');

export const allowTruncation = z
  .boolean()
  .optional()
  .describe(
    'Set to true only when a much shorter plan is what is wanted: without it, a text with fewer than half of the characters of a long plan is refused. Never set it merely to clear that error.',
  );

export const requestId = z
  .string()
  .optional()
  .describe(
    'An id of your own choosing for this one call, unique within the task. Sending the same call again with the same id does nothing twice: it returns the first answer with replayed true. Use it to repeat a call safely after a lost response.',
  );

export const expectedVersion = z
  .string()
  .optional()
  .describe(
    'The version of the plan this change was made against, exactly as get_task_plan_kandev or the last write returned it. If the plan has changed since, the call is refused and changes nothing.',
  );

export const revisionId = z
  .string()
  .describe('Id of the revision, as list_task_plan_revisions_kandev returned it (not its number).');
