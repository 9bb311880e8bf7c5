import type { ErrorCode } from '../../../src/ledger/errors.ts';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { type Fixture, makeCast } from '../../support/fixture.ts';
import { canary } from '../observe.ts';
import { age, makePlan, type Planned } from '../plans.ts';

/** A request that is valid until rules are broken on it. */
export interface Request {
  cast: Planned;
  /** Somebody of another workspace. */
  outsider: string;
  /** The revision that a restore names. */
  source: { id: string; version: string };
  version: string;
  arguments: Record<string, unknown>;
  /** Ends what a broken rule holds. */
  release(): Promise<void>;
}

/** One rule of the admission order and how a request breaks it. */
export interface Rule {
  name: string;
  code: ErrorCode;
  /** What breaking it occupies: two rules that need the same thing cannot be broken together. */
  needs: string[];
  break(request: Request, db: Fixture): Promise<void> | void;
}

const whole = `${canary} ${'x'.repeat(2_980)} end`;

/** A request of `method` that would be accepted, on a plan with two revisions. */
export async function acceptable(db: Fixture, method: keyof Ledger): Promise<Request> {
  const outsider = await makeCast(db);
  const cast = await makePlan(db, `old ${canary}`);
  await age(db, cast.task, '6 minutes');
  const by = { principal: cast.agent, task_id: cast.task };
  const { version } = await db.ledger.planReplace({
    ...by,
    content: whole,
    expected_version: cast.created.version,
    request_id: 'used',
  });
  const source = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
  const given: Record<string, unknown> = {
    ...by,
    content: `${whole} and more`,
    fragment: `more ${canary}`,
    expected_version: version,
    old_text: ' end',
    new_text: ` ${canary}`,
    revision_id: source.id,
    expected_revision_version: source.revision_version,
  };
  if (method === 'planRevert') given.principal = cast.user;
  const taken: readonly string[] = signatures[method].arguments;
  return {
    cast,
    outsider: method === 'planRevert' ? outsider.user : outsider.agent,
    source: { id: source.id, version: source.revision_version },
    version,
    arguments: Object.fromEntries(Object.entries(given).filter(([name]) => taken.includes(name))),
    release: async () => {},
  };
}

const set = (name: string, value: unknown, code: ErrorCode, told = `${name} ${code}`): Rule => ({
  name: told,
  code,
  needs: [name],
  break: (request) => {
    request.arguments[name] = value;
  },
});

const tooLong = 'x'.repeat(201);
const tooLarge = 'x'.repeat(262_145);

const badRequestId = set('request_id', tooLong, 'validation_error');
const badTitle = set('title', tooLong, 'validation_error');
const unreachable: Rule = {
  name: 'task_unreachable',
  code: 'task_unreachable',
  needs: ['principal'],
  break: (request) => {
    request.arguments.principal = request.outsider;
  },
};
const busy: Rule = {
  name: 'plan_busy',
  code: 'plan_busy',
  needs: ['lock'],
  async break(request, { admin }) {
    const holder = await admin.reserve();
    await holder`begin`;
    await holder`select pg_advisory_xact_lock(planledger.lock_key('plan', ${request.cast.task}))`;
    request.release = async () => {
      await holder`rollback`;
      holder.release();
    };
  },
};
const usedRequestId = set('request_id', 'used', 'idempotency_conflict');
const headUnavailable: Rule = {
  name: 'plan_head_unavailable',
  code: 'plan_head_unavailable',
  needs: ['head'],
  async break({ cast }, { admin }) {
    await admin.begin(async (sql) => {
      await sql`set local session_replication_role = replica`;
      await sql`delete from planledger.plan_revisions where task_id = ${cast.task} and revision_number = 2`;
    });
  },
};
const noPlan: Rule = {
  name: 'plan_not_found',
  code: 'plan_not_found',
  needs: ['head'],
  async break({ cast }, { ledger }) {
    await ledger.planDelete({ principal: cast.agent, task_id: cast.task });
  },
};
const noRevision = set('revision_id', 'no such revision', 'revision_not_found');
const versionRequired = set('expected_version', '', 'plan_version_required');
const versionConflict = set('expected_version', 'no such version', 'plan_version_conflict');
const truncation: Rule = { ...set('content', canary, 'plan_truncation_rejected'), needs: ['content', 'truncation'] };

/** HEAD is not the highest-numbered revision, which only an acknowledged reduction and a restore look at. */
const historyUnavailable = (change: Record<string, unknown>): Rule => ({
  name: 'plan_history_unavailable',
  code: 'plan_history_unavailable',
  needs: ['head', 'truncation', ...Object.keys(change)],
  async break(request, { admin }) {
    Object.assign(request.arguments, change);
    await admin`
      insert into planledger.plan_revisions select (jsonb_populate_record(r, jsonb_build_object(
        'revision_number', 3, 'id', gen_random_uuid(), 'write_version', gen_random_uuid()))).*
      from planledger.plan_revisions r where task_id = ${request.cast.task} and revision_number = 2`;
  },
});

const first = [badRequestId, badTitle, unreachable];
const put = [
  ...first,
  set('content', '', 'plan_content_required'),
  set('content', tooLarge, 'plan_content_too_large'),
  busy,
  usedRequestId,
  headUnavailable,
];
const guard = [versionRequired, versionConflict, truncation];
const acknowledged = historyUnavailable({ content: canary, allow_truncation: true });
const shrink: Rule = {
  ...set('old_text', whole, 'plan_truncation_rejected'),
  needs: ['old_text', 'new_text', 'truncation'],
  break: (request) => {
    Object.assign(request.arguments, { old_text: whole, new_text: canary });
  },
};

/** The rules of each writing operation, in the order of the specification. */
export const rules: { method: keyof Ledger; rules: Rule[] }[] = [
  { method: 'planCreate', rules: [...put, ...guard, acknowledged] },
  { method: 'planReplace', rules: [...put, noPlan, ...guard, acknowledged] },
  {
    method: 'planAppend',
    rules: [
      ...first,
      set('fragment', '', 'plan_content_required'),
      set('fragment', '\u3000 \n', 'validation_error', 'white-space-only fragment'),
      set('allow_truncation', true, 'plan_append_truncation_not_applicable'),
      busy,
      usedRequestId,
      headUnavailable,
      noPlan,
      versionConflict,
      set('fragment', tooLarge, 'plan_content_too_large'),
    ],
  },
  {
    method: 'planEdit',
    rules: [
      badRequestId,
      set('new_text', null, 'validation_error'),
      unreachable,
      set('old_text', '', 'plan_edit_text_required'),
      busy,
      usedRequestId,
      headUnavailable,
      noPlan,
      versionRequired,
      versionConflict,
      set('old_text', 'absent', 'plan_edit_not_found'),
      set('old_text', 'x', 'plan_edit_ambiguous'),
      set('new_text', tooLarge, 'plan_content_too_large'),
      shrink,
      historyUnavailable({ old_text: whole, new_text: canary, allow_truncation: true }),
    ],
  },
  {
    method: 'planRestore',
    rules: [
      badRequestId,
      unreachable,
      busy,
      usedRequestId,
      headUnavailable,
      noPlan,
      noRevision,
      versionRequired,
      versionConflict,
      set('expected_revision_version', '', 'plan_revision_version_required'),
      set('expected_revision_version', 'no such version', 'plan_revision_changed'),
      historyUnavailable({}),
    ],
  },
  { method: 'planRevert', rules: [badRequestId, unreachable, busy, usedRequestId, headUnavailable, noRevision] },
  { method: 'planDelete', rules: [badRequestId, unreachable, busy, usedRequestId, headUnavailable, noPlan] },
];
