import { beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { expectRefusal, failure } from '../observe.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();
beforeAll(async () => {
  await createLedger(db.admin).settingsChange({ coalesce_window: '0' });
});

/** A plan with `count` revisions; revision n ends in fragment n. */
async function long(count: number) {
  const cast = await makePlan(db, 'f');
  await db.app`
    select count(*) from generate_series(2, ${count}::int) n,
      lateral planledger.plan_append(p_principal => ${cast.agent}, p_task_id => ${cast.task}, p_fragment => 'f' || n)`;
  return cast;
}

const numbers = (rows: { revision_number: number }[]) => rows.map(({ revision_number }) => revision_number);
const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, n) => from - n);

test('newest first, twenty by default, page by page with an exclusive cursor', async () => {
  const cast = await long(45);
  const by = { principal: cast.agent, task_id: cast.task };
  const first = await db.ledger.revisionList(by);
  expect(numbers(first)).toEqual(down(45, 26));
  expect(new Set(first.map((row) => row.next_before_revision_number))).toEqual(new Set([26]));
  const second = await db.ledger.revisionList({ ...by, before_revision_number: 26 });
  expect(numbers(second)).toEqual(down(25, 6));
  const last = await db.ledger.revisionList({ ...by, before_revision_number: 6 });
  expect(numbers(last)).toEqual(down(5, 1));
  expect(last[0]?.next_before_revision_number).toBeNull();
  expect(numbers(await db.ledger.revisionList({ ...by, before_revision_number: 2 }))).toEqual([1]);
  expect(await db.ledger.revisionList({ ...by, before_revision_number: 1 })).toEqual([]);
  expect(numbers(await db.ledger.revisionList({ ...by, before_revision_number: 1_000, limit: 1 }))).toEqual([45]);
});

test('a page that ends exactly at the first revision has no next cursor', async () => {
  const cast = await long(3);
  const rows = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task, limit: 3 });
  expect(rows.map((row) => row.next_before_revision_number)).toEqual([null, null, null]);
});

test('a row has metadata only', async () => {
  const cast = await makePlan(db, 'é🚀', 'The title');
  const [row] = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task });
  expect(row).toEqual({
    id: cast.created.revision_id,
    task_id: cast.task,
    revision_number: 1,
    title: 'The title',
    author_kind: 'agent',
    author_name: 'Bot',
    restored_from: null,
    content_bytes: 6,
    created_at: expect.any(Date),
    updated_at: row?.created_at,
    next_before_revision_number: null,
  });
});

test('a list needs no text to be readable', async () => {
  const cast = await long(3);
  await db.admin`delete from planledger.plan_segments where task_id = ${cast.task}`;
  expect(await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task })).toHaveLength(3);
});

test('limit is 1 to 100 and a cursor 1 or more', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  for (const [argument, value] of [
    ['limit', 0],
    ['limit', 101],
    ['limit', -1],
    ['before_revision_number', 0],
    ['before_revision_number', -5],
  ] as const) {
    await expectRefusal(db, cast.task, () => db.ledger.revisionList({ ...by, [argument]: value }), {
      code: 'validation_error',
      operation: 'list_revisions',
      details: { argument },
    });
  }
  expect(await db.ledger.revisionList({ ...by, limit: 100 })).toHaveLength(1);
});

test('the browser gets the whole list at once', async () => {
  const cast = await long(130);
  const rows = await db.ledger.revisionList({ principal: cast.user, task_id: cast.task, policy: 'browser' });
  expect(numbers(rows)).toEqual(down(130, 1));
  expect(rows[0]?.next_before_revision_number).toBeNull();
});

test('a task without a plan has an empty history, and history outlives the plan', async () => {
  const cast = await makeCast(db);
  const by = { principal: cast.agent, task_id: cast.task };
  expect(await db.ledger.revisionList(by)).toEqual([]);
  const { revision_id } = await db.ledger.planCreate({ ...by, content: 'kept' });
  await db.ledger.planDelete(by);
  expect(numbers(await db.ledger.revisionList(by))).toEqual([1]);
  expect((await db.ledger.revisionGet({ ...by, revision_id })).content).toBe('kept');
});

test('a revision of another task is not found, exactly as one that does not exist', async () => {
  const [cast, other] = [await makePlan(db, 'a'), await makePlan(db, 'b', 'Secret title')];
  const by = { principal: cast.agent, task_id: cast.task };
  const errors = [];
  for (const revision_id of [other.created.revision_id, crypto.randomUUID(), 'no uuid', '', null]) {
    errors.push((await failure(db.ledger.revisionGet({ ...by, revision_id }))).toJSON());
  }
  expect(errors[0]).toMatchObject({ code: 'revision_not_found', operation: 'get_revision', task_id: cast.task });
  expect(errors).toEqual(Array(5).fill(errors[0]));
});

test('revision_version is SHA-256, moves with every write that joins, and with nothing else', async () => {
  const cast = await makePlan(db, 'a');
  const get = (ledger = db.ledger) =>
    ledger.revisionGet({ principal: cast.agent, task_id: cast.task, revision_id: cast.created.revision_id });
  await createLedger(db.admin).settingsChange({ coalesce_window: '5 minutes' });
  const { revision_version } = await get();
  expect(revision_version).toMatch(/^[0-9a-f]{64}$/);
  const session = await openSession(db, 'elsewhere');
  await session.sql`set timezone = 'Asia/Kathmandu'`;
  await session.sql`set datestyle = 'German'`;
  expect((await get(session.ledger)).revision_version).toBe(revision_version);
  await closeSessions(session);
  const seen = new Set([revision_version]);
  let { version } = cast.created;
  for (const content of ['a', 'a', 'ab']) {
    const by = { principal: cast.agent, task_id: cast.task };
    const ack = await db.ledger.planReplace({ ...by, content, expected_version: version });
    expect(ack.coalesced).toBe(true);
    version = ack.version;
    seen.add((await get()).revision_version);
  }
  expect(seen.size).toBe(4);
  const touch = async (change: string) => {
    await db.admin.unsafe(`update planledger.plan_revisions set ${change} where task_id = $1`, [cast.task]);
    seen.add((await get()).revision_version);
  };
  await touch("title = 'Other'");
  await touch("updated_at = updated_at + interval '1 microsecond'");
  expect(seen.size).toBe(6);
  await createLedger(db.admin).settingsChange({ coalesce_window: '0' });
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'next' });
  await db.ledger.planDelete({ principal: cast.agent, task_id: cast.task });
  const before = await get();
  expect(seen).toContain(before.revision_version);
});

test('author kind and name come from the principal, with fallback names', async () => {
  const cast = await makePlan(db, 'a');
  const administrator = createLedger(db.admin);
  const unnamed = async (kind: string, more: object = {}) =>
    (await administrator.principalCreate({ workspace_id: cast.workspace, kind, ...more })).id;
  const writers = [
    [cast.user, 'user', 'Ann'],
    [cast.service, 'agent', 'CI'],
    [await unnamed('user'), 'user', 'User'],
    [await unnamed('service'), 'agent', 'Agent'],
    [await unnamed('agent', { task_id: cast.task }), 'agent', 'Agent'],
  ] as const;
  for (const [principal] of writers) await db.ledger.planAppend({ principal, task_id: cast.task, fragment: 'x' });
  const rows = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task });
  expect(rows.map((row) => [row.author_kind, row.author_name]).reverse()).toEqual([
    ['agent', 'Bot'],
    ...writers.map(([, kind, name]) => [kind, name]),
  ]);
});
