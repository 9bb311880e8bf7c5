import type { PlanTool } from './tool.ts';
import { createPlan } from './tools/create-plan.ts';
import { deletePlan } from './tools/delete-plan.ts';
import { editPlan } from './tools/edit-plan.ts';
import { getPlan } from './tools/get-plan.ts';
import { getRevision } from './tools/get-revision.ts';
import { listRevisions } from './tools/list-revisions.ts';
import { restoreRevision } from './tools/restore-revision.ts';
import { updatePlan } from './tools/update-plan.ts';

/** Every tool, in the order they are listed; the one registration behind both transports. */
export const tools: readonly PlanTool[] = [
  createPlan,
  getPlan,
  updatePlan,
  editPlan,
  listRevisions,
  getRevision,
  restoreRevision,
  deletePlan,
];
