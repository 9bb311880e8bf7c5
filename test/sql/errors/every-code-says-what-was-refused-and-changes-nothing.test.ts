import { randomBytes } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/ledger/errors.ts';
import { signatures } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { acceptable, rules } from '../admission/rules.ts';
import { checkRefusal, expectRefusal, failure } from '../observe.ts';
import { makePlan, read } from '../plans.ts';
import { closeSessions, openSession, waitsFor } from '../sessions.ts';

const db = useDatabase();
type Call = (values: Record<string, unknown>) => Promise<unknown>;

const deliveryCodes: ErrorCode[] = [
  'session_not_found',
  'session_terminal',
  'session_not_promptable',
  'primary_session_changed',
  'prompt_too_large',
  'queue_full',
  'queue_entry_not_found',
  'queue_changed',
  'attachment_not_found',
  'lease_lost',
  'admission_lease_lost',
];
const everyCode: ErrorCode[] = [
  'validation_error',
  'unauthenticated',
  'task_unreachable',
  'task_not_found',
  'plan_not_found',
  'plan_content_required',
  'plan_content_too_large',
  'plan_version_required',
  'plan_version_conflict',
  'plan_head_unavailable',
  'plan_truncation_rejected',
  'plan_append_truncation_not_applicable',
  'plan_history_unavailable',
  'plan_edit_text_required',
  'plan_edit_not_found',
  'plan_edit_ambiguous',
  'revision_not_found',
  'plan_revision_changed',
  'plan_revision_version_required',
  'idempotency_conflict',
  'isolation_not_supported',
  'plan_busy',
  'comment_body_too_large',
  'comment_selection_too_large',
  'comment_limit_exceeded',
  'comment_id_conflict',
  'plan_comments_changed',
  ...deliveryCodes,
];
/** Tested elsewhere; those of comments and sessions in the folders `comment`, `session` and `delivery`. */
const own = new Set<ErrorCode>([
  'unauthenticated',
  'task_not_found',
  'isolation_not_supported',
  'comment_body_too_large',
  'comment_selection_too_large',
  'comment_limit_exceeded',
  'comment_id_conflict',
  'plan_comments_changed',
  ...deliveryCodes,
]);
const withoutVersion = new Set<ErrorCode>([
  'validation_error',
  'task_unreachable',
  'plan_head_unavailable',
  'plan_busy',
]);

beforeAll(async () => {
  await createLedger(db.admin).settingsChange({ lock_wait: '20 milliseconds' });
});

test('the database lists exactly the codes of the specification, with the class of each', async () => {
  const listed = await db.app<{ code: string; sqlstate: string; message: string; next_action: string }[]>`
    select code, sqlstate, message, next_action from planledger.error_catalog()`;
  const client = ['connection_lost', 'database_unavailable', 'internal_error'];
  const refusals = listed.filter(({ code }) => !client.includes(code));
  expect(refusals.map(({ code }) => code).sort()).toEqual([...everyCode].sort());
  for (const { sqlstate, message, next_action } of refusals) {
    expect(sqlstate).toMatch(/^TP[45]\d\d$/);
    expect(message).not.toMatch(/\b(lost|overwritten)\b/i);
    expect(next_action).not.toBe('');
  }
});

const breakable = rules.flatMap(({ method, rules: order }) => order.map((rule) => ({ method, rule })));

test('every other code is met below', () => {
  const met = new Set(breakable.map(({ rule }) => rule.code));
  expect(everyCode.filter((code) => !met.has(code) && !own.has(code))).toEqual([]);
});

test.each(breakable.filter(({ rule }, at) => breakable.findIndex(({ rule: { code } }) => code === rule.code) === at))(
  '$rule.code leaves the next valid write to succeed',
  async ({ method, rule }) => {
    const request = await acceptable(db, method);
    const { task, agent } = request.cast;
    await rule.break(request, db);
    const error = await expectRefusal(db, task, () => (db.ledger[method] as Call)(request.arguments), {
      code: rule.code,
      operation: signatures[method].operation,
    }).finally(() => request.release());
    if (!withoutVersion.has(rule.code) && rule.code !== 'plan_not_found') {
      expect(error.details).toMatchObject({ current_version: request.version });
    }
    if (rule.code === 'plan_head_unavailable') return;
    if (rule.code === 'plan_not_found') await db.ledger.planCreate({ principal: agent, task_id: task, content: 'new' });
    if (rule.code === 'plan_history_unavailable') {
      await db.admin`delete from planledger.plan_revisions where task_id = ${task} and revision_number = 3`;
    }
    const after = await db.ledger.planAppend({ principal: agent, task_id: task, fragment: 'later' });
    expect(after).toMatchObject({ outcome: 'appended', replayed: false });
    expect((await read(db, request.cast)).content).toMatch(/\n\nlater$/);
  },
);

test('unauthenticated: a token that is unknown, expired or revoked', async () => {
  const cast = await makePlan(db, 'a');
  const administrator = createLedger(db.admin);
  const digest = async (token: string) =>
    new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token)));
  const authenticate = async (token: string) => db.ledger.tokenAuthenticate({ token_sha256: await digest(token) });
  const expired = await administrator.tokenCreate({
    principal: cast.agent,
    name: 'short',
    expires_in: '1 millisecond',
  });
  const revoked = await administrator.tokenCreate({ principal: cast.agent, name: 'revoked' });
  expect(await authenticate(revoked.token)).toMatchObject({ principal_id: cast.agent, task_id: cast.task });
  await administrator.tokenRevoke({ token_id: revoked.id });
  await db.admin`select pg_sleep(0.002)`;
  const unknown = randomBytes(32).toString('base64url');
  const errors = [];
  for (const token of [unknown, expired.token, revoked.token]) errors.push(await failure(authenticate(token)));
  expect(errors.map((error) => error.toJSON())).toEqual(Array(3).fill(errors[0]?.toJSON()));
  expect(errors[0]).toMatchObject({ code: 'unauthenticated', writeApplied: false, cause: { code: 'TP401' } });
});

test('task_not_found: a reachable task that vanishes while the call waits', async () => {
  const cast = await makePlan(db, 'a');
  await createLedger(db.admin).settingsChange({ lock_wait: '20 seconds' });
  const [deleter, writer] = [await openSession(db, 'deleter'), await openSession(db, 'writer')];
  await deleter.begin();
  await deleter.ledger.taskDelete({ principal: cast.user, task_id: cast.task });
  const waiting = failure(writer.ledger.planAppend({ principal: cast.user, task_id: cast.task, fragment: 'b' }));
  await waitsFor(db, writer, deleter, cast.task);
  await deleter.commit();
  checkRefusal(await waiting, cast.task, { code: 'task_not_found', operation: 'append' });
  await closeSessions(deleter, writer);
});
