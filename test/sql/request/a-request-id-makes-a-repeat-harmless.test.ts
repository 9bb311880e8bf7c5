import { describe, expect, test } from 'vitest';
import { type Ledger, type PlanWriteAck, signatures } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { acceptable, type Request } from '../admission/rules.ts';
import { expectHeadIsLatest, expectRefusal, failure, stored } from '../observe.ts';
import { history, makePlan, otherAgent, read } from '../plans.ts';

const db = useDatabase();
type Write = (values: Record<string, unknown>) => Promise<Record<string, unknown>>;
const writes = [
  'planCreate',
  'planReplace',
  'planAppend',
  'planEdit',
  'planRestore',
  'planRevert',
  'planDelete',
] as const satisfies (keyof Ledger)[];

async function another({ cast }: Request, kind: 'user' | 'agent'): Promise<string> {
  if (kind === 'agent') return otherAgent(db, cast);
  const made = await createLedger(db.admin).principalCreate({ workspace_id: cast.workspace, kind: 'user' });
  return made.id;
}

describe.each(writes)('%s', (method) => {
  const write = (values: Record<string, unknown>) => (db.ledger[method] as unknown as Write)(values);
  const { operation } = signatures[method];

  async function accepted() {
    const request = await acceptable(db, method);
    const call = { ...request.arguments, request_id: 'mine' };
    const answer = await write(call);
    expect(answer.replayed).toBe(false);
    return { request, call, answer, cast: request.cast };
  }

  test('is answered again, whatever happened to the plan since', async () => {
    const { call, answer, cast } = await accepted();
    const again = { ...answer, replayed: true };
    const replays = async () => {
      const before = await stored(db, cast.task);
      expect(await write(call)).toEqual(again);
      expect(await stored(db, cast.task)).toEqual(before);
    };
    await replays();
    const browser = { principal: cast.user, task_id: cast.task, policy: 'browser' };
    await db.ledger.planCreate({ ...browser, content: 'something else' });
    await replays();
    await db.ledger.planDelete(browser);
    await replays();
    await db.ledger.planCreate({ ...browser, content: 'new plan' });
    await replays();
    await db.admin.begin(async (sql) => {
      await sql`set local session_replication_role = replica`;
      await sql`update planledger.plans set revision_number = 99 where task_id = ${cast.task}`; // unreadable
    });
    await replays();
  });

  test('conflicts with anything different, and with nothing else', async () => {
    const { request, call, cast } = await accepted();
    const changed: Record<string, unknown> = {
      content: 'other text',
      fragment: 'other text',
      old_text: 'other text',
      new_text: 'other text',
      title: 'Other title',
      revision_id: crypto.randomUUID(),
      expected_version: crypto.randomUUID(),
      expected_revision_version: 'other',
      ...(method === 'planAppend' ? {} : { allow_truncation: true }),
      principal: await another(request, method === 'planRevert' ? 'user' : 'agent'),
    };
    const taken: readonly string[] = signatures[method].arguments;
    for (const [name, value] of Object.entries(changed).filter(([name]) => taken.includes(name))) {
      await expectRefusal(db, cast.task, () => write({ ...call, [name]: value }), {
        code: 'idempotency_conflict',
        operation,
        details: { request_id: 'mine' },
      });
    }
  });

  test('conflicts with every other operation that carries the same id', async () => {
    const { call, cast } = await accepted();
    const texts = { content: 'x', fragment: 'x', old_text: 'x', new_text: 'x', revision_id: 'x' };
    const versions = { expected_version: 'x', expected_revision_version: 'x' };
    for (const other of writes.filter((name) => name !== method)) {
      const taken: readonly string[] = signatures[other].arguments;
      const all = { ...texts, ...versions, ...call, principal: other === 'planRevert' ? cast.user : cast.agent };
      const values = Object.fromEntries(Object.entries(all).filter(([name]) => taken.includes(name)));
      const answer = () => (db.ledger[other] as unknown as Write)(values);
      await expectRefusal(db, cast.task, answer, {
        code: 'idempotency_conflict',
        operation: signatures[other].operation,
      });
    }
  });
});

test('rejected requests are not remembered', async () => {
  const cast = await makePlan(db, 'a');
  const call = { principal: cast.agent, task_id: cast.task, request_id: 'r' };
  await failure(db.ledger.planReplace({ ...call, content: 'b' }));
  await failure(db.ledger.planEdit({ ...call, expected_version: cast.created.version, old_text: 'x', new_text: 'y' }));
  expect(await db.ledger.planAppend({ ...call, fragment: 'b' })).toMatchObject({ replayed: false });
});

test('an id is unique per task, and without one nothing is remembered', async () => {
  const [cast, other] = [await makePlan(db, 'a'), await makePlan(db, 'a')];
  for (const { agent, task } of [cast, other]) {
    const ack = await db.ledger.planAppend({ principal: agent, task_id: task, fragment: 'b', request_id: 'same' });
    expect(ack).toMatchObject({ task_id: task, replayed: false });
  }
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'c', request_id: null });
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'c' });
  const rows = await db.admin`select request_id from planledger.plan_requests where task_id = ${cast.task}`;
  expect(rows).toEqual([{ request_id: 'same' }]);
  expect((await read(db, cast)).content).toBe('a\n\nb\n\nc\n\nc');
});

test('already_current is remembered like a write', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const source = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
  const call = {
    ...by,
    revision_id: source.id,
    expected_version: cast.created.version,
    expected_revision_version: source.revision_version,
    request_id: 'r',
  };
  const answer = await db.ledger.planRestore(call);
  expect(answer).toMatchObject({ outcome: 'already_current', replayed: false });
  await db.ledger.planAppend({ ...by, fragment: 'b' });
  expect(await db.ledger.planRestore(call)).toEqual({ ...answer, replayed: true });
  expect(await history(db, cast)).toEqual(['a\n\nb']);
  await expectHeadIsLatest(db, cast.task);
});

test('what is remembered holds no plan text', async () => {
  const cast = await makePlan(db, 'a');
  const call = { principal: cast.agent, task_id: cast.task, request_id: 'r' };
  await db.ledger.planAppend({ ...call, fragment: 'UnmistakableFragment' });
  const [row] = await db.admin`select q::text as text from planledger.plan_requests q where task_id = ${cast.task}`;
  expect(row?.text).not.toContain('UnmistakableFragment');
});

test('answers are kept a day at least, whatever an administrator asks for', async () => {
  const cast = await makePlan(db, 'a');
  const administrator = createLedger(db.admin);
  const call = { principal: cast.agent, task_id: cast.task, fragment: 'b', request_id: 'r' };
  const answer = await db.ledger.planAppend(call);
  const older = (interval: string) =>
    db.admin`update planledger.plan_requests set created_at = clock_timestamp() - ${interval}::text::interval
      where task_id = ${cast.task}`;
  expect(await failure(administrator.requestsPrune({ keep: '23 hours' }))).toMatchObject({ code: 'validation_error' });
  await older('23 hours 59 minutes');
  await administrator.requestsPrune({ keep: '24 hours' });
  await administrator.requestsPrune({});
  expect(await db.ledger.planAppend(call)).toEqual({ ...answer, replayed: true });
  await older('24 hours 1 minute');
  await administrator.requestsPrune({ keep: '24 hours' });
  expect(await db.ledger.planAppend(call)).toMatchObject({ replayed: false });
});

test.each(['planAppend', 'planCreate', 'planReplace'] as const)(
  'what is empty and what is absent are the same request: %s',
  async (method) => {
    const cast = await makeCast(db);
    const by = { principal: cast.agent, task_id: cast.task };
    const made = method === 'planCreate' ? undefined : await db.ledger.planCreate({ ...by, content: 'a' });
    const expected_version = method === 'planReplace' ? made?.version : undefined;
    const values = { ...by, content: 'b', fragment: 'b', request_id: 'r' };
    const call = (change: object) =>
      (db.ledger[method] as (all: object) => Promise<PlanWriteAck>)({ ...values, expected_version, ...change });
    const first = await call({});
    expect(await call({ title: '' })).toEqual({ ...first, replayed: true });
    expect(await call({ title: null, allow_truncation: false })).toEqual({ ...first, replayed: true });
    if (expected_version === undefined)
      expect(await call({ expected_version: '' })).toEqual({ ...first, replayed: true });
    await expect(call({ title: 'Other' })).rejects.toMatchObject({ code: 'idempotency_conflict' });
  },
);
