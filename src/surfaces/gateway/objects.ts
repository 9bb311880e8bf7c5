import type { PlanGetRow, RevisionGetRow, RevisionListRow } from '../../ledger/generated.ts';

/** The plan as this surface shows it; null where there is none. */
export function planObject(plan: PlanGetRow | null): object | null {
  if (plan === null) return null;
  const { id, task_id, title, content, version, created_by, created_at, updated_at } = plan;
  const started = plan.implementation_started_at !== null && {
    implementation_started_at: plan.implementation_started_at,
    implementation_started_session_id: plan.implementation_started_session_id,
    implementation_started_by: plan.implementation_started_by,
  };
  return { id, task_id, title, content, version, created_by, created_at, updated_at, ...started };
}

/** A revision as this surface shows it, with its text where that was read. */
export function revisionObject(revision: RevisionListRow | RevisionGetRow): object {
  const { id, task_id, revision_number, title, author_kind, author_name, restored_from, created_at, updated_at } =
    revision;
  return {
    ...{ id, task_id, revision_number, title },
    ...('content' in revision && { content: revision.content }),
    ...{ author_kind, author_name },
    ...(restored_from !== null && { revert_of_revision_id: restored_from }),
    ...{ created_at, updated_at },
  };
}
