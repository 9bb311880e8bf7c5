import { afterEach, describe, expect, test } from 'vitest';
import type { PlanledgerError } from '../../../src/ledger/errors.ts';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { acceptable } from '../admission/rules.ts';
import { expectRefusal, failure, stored } from '../observe.ts';
import { age, makePlan, read } from '../plans.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();
type Call = (values: Record<string, unknown>) => Promise<unknown>;
const methods = [
  'planGet',
  'planCreate',
  'planReplace',
  'planAppend',
  'planEdit',
  'planRestore',
  'planRevert',
  'planDelete',
] as const satisfies (keyof Ledger)[];

const storage = /segment|plan_revisions|relation|permission|privilege|table|column|corrupt/i;

function expectNoStorageDetail(error: PlanledgerError): void {
  const { detail, hint } = error.cause as { detail?: string; hint?: string };
  expect(`${error.message} ${error.nextAction} ${detail} ${hint}`).not.toMatch(storage);
}

const grant = () => db.admin`grant select on planledger.plan_revisions to planledger_owner`;
afterEach(grant);

const damages = [
  {
    damage: 'its revision is missing',
    inflict: (task: string) =>
      db.admin.begin(async (sql) => {
        await sql`set local session_replication_role = replica`;
        await sql`delete from planledger.plan_revisions where task_id = ${task} and revision_number = 2`;
      }),
  },
  {
    damage: 'the revisions may not be read',
    inflict: () => db.admin`revoke select on planledger.plan_revisions from planledger_owner`,
  },
];

describe.each(damages)('$damage', ({ inflict }) => {
  test.each(methods)('%s says so, and not that there is no plan', async (method) => {
    const request = await acceptable(db, method);
    await inflict(request.cast.task);
    const call = () => (db.ledger[method] as unknown as Call)(request.arguments);
    const error = await expectRefusal(db, request.cast.task, call, {
      code: 'plan_head_unavailable',
      operation: signatures[method].operation,
    });
    expectNoStorageDetail(error);
    expect(error.retrySafe).toBe(true);
  });
});

test('once it can be read again, everything is as it was', async () => {
  const cast = await makePlan(db, 'a');
  const before = await read(db, cast);
  await db.admin`revoke select on planledger.plan_revisions from planledger_owner`;
  const by = { principal: cast.agent, task_id: cast.task };
  expect((await failure(db.ledger.planAppend({ ...by, fragment: 'b' }))).code).toBe('plan_head_unavailable');
  await grant();
  expect(await read(db, cast)).toEqual(before);
  await db.ledger.planAppend({ ...by, fragment: 'b' });
  const empty = await makeCast(db);
  expect(await db.ledger.planGet({ principal: empty.agent, task_id: empty.task })).toBeNull();
});

const broken = [
  { damage: 'a segment is missing', sql: 'delete from planledger.plan_segments where task_id = $1' },
  { damage: 'a segment is shorter', sql: "update planledger.plan_segments set body = 'x' where task_id = $1" },
  {
    damage: 'the recorded size is another',
    sql: 'update planledger.plan_revisions set content_bytes = content_bytes + 1 where task_id = $1',
  },
];

describe.each(broken)('$damage', ({ sql }) => {
  const damaged = async () => {
    const cast = await makePlan(db, 'x'.repeat(2_500), 'Title');
    await age(db, cast.task, '6 minutes');
    const { version } = await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'end' });
    const by = { principal: cast.agent, task_id: cast.task };
    const source = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
    await db.admin.unsafe(sql, [cast.task]);
    return { cast, by, version, source };
  };

  test('get and edit refuse', async () => {
    const { cast, by, version } = await damaged();
    for (const [operation, call] of [
      ['get', () => db.ledger.planGet(by)],
      ['edit', () => db.ledger.planEdit({ ...by, expected_version: version, old_text: 'end', new_text: 'END' })],
    ] as const) {
      expectNoStorageDetail(await expectRefusal(db, cast.task, call, { code: 'plan_head_unavailable', operation }));
    }
  });

  test('an acknowledged reduction, a restore and reading the revision find history unavailable', async () => {
    const { cast, by, version, source } = await damaged();
    const cut = { ...by, content: 'cut', allow_truncation: true, expected_version: version };
    const restore = { ...by, revision_id: source.id, expected_version: version };
    for (const [operation, call] of [
      ['replace', () => db.ledger.planReplace(cut)],
      ['create', () => db.ledger.planCreate(cut)],
      ['get_revision', () => db.ledger.revisionGet({ ...by, revision_id: source.id })],
      ['restore', () => db.ledger.planRestore({ ...restore, expected_revision_version: source.revision_version })],
      ['revert', () => db.ledger.planRevert({ ...by, principal: cast.user, revision_id: source.id })],
    ] as const) {
      const error = await expectRefusal(db, cast.task, call, { code: 'plan_history_unavailable', operation });
      expectNoStorageDetail(error);
    }
  });

  test('a history that cannot be read can still be listed', async () => {
    const { by } = await damaged();
    expect(await db.ledger.revisionList(by)).toMatchObject([{ revision_number: 2 }, { revision_number: 1 }]);
  });
});

test('a cancelled statement and a row lock that lasts stay what they are', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const session = await openSession(db, 'impatient');
  const holder = await db.admin.reserve();
  await holder`begin`;
  await holder`select from planledger.plans join planledger.plan_revisions using (task_id) where task_id = ${cast.task} for update`;
  const before = await stored(db, cast.task);
  await session.sql`set statement_timeout = '100ms'`;
  const cancelled = await failure(session.ledger.planAppend({ ...by, fragment: 'b' }));
  await session.sql`set statement_timeout = 0`;
  await session.sql`set lock_timeout = '100ms'`;
  const busy = await failure(session.ledger.planAppend({ ...by, fragment: 'b' }));
  expect(await stored(db, cast.task)).toEqual(before);
  await holder`rollback`;
  holder.release();
  expect(cancelled).toMatchObject({ cause: { code: '57014' }, writeApplied: false });
  expect(busy).toMatchObject({ code: 'plan_busy', writeApplied: false });
  await session.ledger.planAppend({ ...by, fragment: 'b' });
  await closeSessions(session);
});
