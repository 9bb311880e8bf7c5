import { expect } from 'vitest';
import { type ErrorCode, PlanledgerError } from '../../src/ledger/errors.ts';
import type { Fixture } from '../support/fixture.ts';

/** Everything stored about a task, times to the microsecond; what a refused call must leave exactly as it was. */
export async function stored({ admin }: Fixture, task: string): Promise<unknown> {
  const [row] = await admin`
    select
      (select jsonb_agg(t) from planledger.tasks t where t.id = ${task}) as task,
      (select jsonb_agg(p) from planledger.plans p where p.task_id = ${task}) as plan,
      (select jsonb_agg(r order by r.revision_number) from planledger.plan_revisions r where r.task_id = ${task}) as revisions,
      (select jsonb_agg(array[s.seq::text, md5(s.body)] order by s.seq) from planledger.plan_segments s where s.task_id = ${task}) as segments,
      (select jsonb_agg(e order by e.id) from planledger.events e where e.task_id = ${task}) as events,
      (select jsonb_agg(q order by q.request_id) from planledger.plan_requests q where q.task_id = ${task}) as requests,
      (select jsonb_agg(c order by c.id) from planledger.plan_comments c where c.task_id = ${task}) as comments,
      (select jsonb_agg(i order by i.id) from planledger.plan_comment_ids i where i.task_id = ${task}) as comment_ids,
      (select jsonb_agg(h) from planledger.plan_comment_heads h where h.task_id = ${task}) as comment_head`;
  return row;
}

/** Part of every text that tests store and submit: no error may repeat it. */
export const canary = 'CanaryText';

const sqlStates: Partial<Record<ErrorCode, string>> = {
  validation_error: 'TP400',
  plan_content_required: 'TP400',
  plan_edit_text_required: 'TP400',
  plan_append_truncation_not_applicable: 'TP400',
  unauthenticated: 'TP401',
  task_unreachable: 'TP403',
  task_not_found: 'TP404',
  plan_not_found: 'TP404',
  revision_not_found: 'TP404',
  plan_version_required: 'TP409',
  plan_version_conflict: 'TP409',
  plan_revision_version_required: 'TP409',
  plan_revision_changed: 'TP409',
  plan_edit_not_found: 'TP409',
  plan_edit_ambiguous: 'TP409',
  idempotency_conflict: 'TP409',
  isolation_not_supported: 'TP409',
  plan_content_too_large: 'TP413',
  comment_body_too_large: 'TP413',
  comment_selection_too_large: 'TP413',
  comment_limit_exceeded: 'TP413',
  comment_id_conflict: 'TP409',
  plan_comments_changed: 'TP409',
  plan_truncation_rejected: 'TP422',
  plan_head_unavailable: 'TP503',
  plan_history_unavailable: 'TP503',
  plan_busy: 'TP503',
};

/** What a refusal must say. */
export interface Refusal {
  code: ErrorCode;
  operation: string;
  /** Counts, versions and the argument concerned. */
  details?: Record<string, unknown>;
}

/** The failure of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<PlanledgerError> {
  const error = await call.then(
    (answer) => new Error(`was not refused: ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof PlanledgerError)) throw error;
  return error;
}

/** Checks one error from the class of its SQLSTATE to its next action. */
export function checkRefusal(error: PlanledgerError, task: string, { code, operation, details = {} }: Refusal): void {
  const cause = error.cause as { code?: string; detail?: string; hint?: string };
  expect({ ...error.toJSON(), message: '', next_action: '' }).toMatchObject({
    ...details,
    code,
    operation,
    task_id: task,
    write_applied: false,
  });
  expect(cause.code).toBe(sqlStates[code]);
  expect(JSON.parse(cause.detail ?? '')).toMatchObject({ code, operation, task_id: task, write_applied: false });
  expect(error.message).not.toBe('');
  expect(error.nextAction).not.toBe('');
  expect(JSON.stringify([error, cause.detail, cause.hint])).not.toContain(canary);
}

/** Makes a call that must be refused as `refusal` says, and holds everything stored about the task to what it was. */
export async function expectRefusal(
  db: Fixture,
  task: string,
  call: () => Promise<unknown>,
  refusal: Refusal,
): Promise<PlanledgerError> {
  const before = await stored(db, task);
  const error = await failure(call());
  checkRefusal(error, task, refusal);
  expect(await stored(db, task)).toEqual(before);
  return error;
}

/** HEAD as an administrator sees it, which must always be the highest-numbered revision of a gapless history. */
export async function expectHeadIsLatest({ admin }: Fixture, task: string): Promise<void> {
  const [row] = await admin`
    select count(*)::int as revisions, max(revision_number) as highest, min(revision_number) as lowest,
      (select revision_number from planledger.plans where task_id = ${task}) as head
    from planledger.plan_revisions where task_id = ${task}`;
  expect(row).toEqual({ revisions: row?.highest, highest: row?.highest, lowest: 1, head: row?.highest });
}
