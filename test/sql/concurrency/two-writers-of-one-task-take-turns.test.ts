import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { checkRefusal, expectHeadIsLatest, failure, type Refusal } from '../observe.ts';
import { history, makePlan, otherAgent, read } from '../plans.ts';
import { closeSessions, openSession, type Session, waitsFor } from '../sessions.ts';

const db = useDatabase();
let one: Session;
let two: Session;

beforeAll(async () => {
  one = await openSession(db, 'one');
  two = await openSession(db, 'two');
});
afterAll(() => closeSessions(one, two));

afterEach(() => one.rollback()); // only a failed test leaves a transaction

/** The first call holds its lock until the second is seen waiting for it; then the first commits. */
async function inTurn<A, B>(task: string, first: () => Promise<A>, second: () => Promise<B>) {
  await one.begin();
  const answer = await first();
  const waiting = second().then(
    (value): Outcome<B> => ({ value }),
    (error: unknown): Outcome<B> => ({ error }),
  );
  await waitsFor(db, two, one, task);
  await one.commit();
  const outcome = await waiting;
  const [plan] = await db.admin`select from planledger.plans where task_id = ${task}`;
  if (plan !== undefined) await expectHeadIsLatest(db, task);
  return { first: answer, second: outcome };
}

/** What became of the call that waited. */
interface Outcome<T> {
  value?: T;
  error?: unknown;
}

async function expectRefused({ error }: Outcome<unknown>, task: string, refusal: Refusal): Promise<void> {
  checkRefusal(await failure(Promise.reject(error)), task, refusal);
}

test('two appends are both there in full, in the order of their commits', async () => {
  const cast = await makePlan(db, 'base');
  const call = { principal: cast.agent, task_id: cast.task };
  const { second } = await inTurn(
    cast.task,
    () => one.ledger.planAppend({ ...call, fragment: 'first' }),
    () => two.ledger.planAppend({ ...call, fragment: 'second' }),
  );
  expect(await read(db, cast)).toMatchObject({ content: 'base\n\nfirst\n\nsecond', version: second.value?.version });
});

test('an append after a replace adds to the new text and never to the old', async () => {
  const cast = await makePlan(db, 'base');
  const call = { principal: cast.agent, task_id: cast.task };
  await inTurn(
    cast.task,
    () => one.ledger.planReplace({ ...call, content: 'new', expected_version: cast.created.version }),
    () => two.ledger.planAppend({ ...call, fragment: 'fragment' }),
  );
  expect((await read(db, cast)).content).toBe('new\n\nfragment');
});

test('a replace after an append conflicts, and the fragment stays', async () => {
  const cast = await makePlan(db, 'base');
  const call = { principal: cast.agent, task_id: cast.task };
  const { first, second } = await inTurn(
    cast.task,
    () => one.ledger.planAppend({ ...call, fragment: 'fragment' }),
    () => two.ledger.planReplace({ ...call, content: 'new', expected_version: cast.created.version }),
  );
  await expectRefused(second, cast.task, { code: 'plan_version_conflict', operation: 'replace' });
  expect(await read(db, cast)).toMatchObject({ content: 'base\n\nfragment', version: first.version });
});

test("a person's replace after an append yields the replacement alone, and history keeps what it deleted", async () => {
  const cast = await makePlan(db, 'base');
  await inTurn(
    cast.task,
    () => one.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'fragment' }),
    () => two.ledger.planReplace({ principal: cast.user, task_id: cast.task, content: 'new', policy: 'browser' }),
  );
  expect(await history(db, cast)).toEqual(['base\n\nfragment', 'new']);
});

test('an update after a deletion finds no plan and does not recreate it', async () => {
  const updates = [
    ['replace', () => two.ledger.planReplace],
    ['append', () => two.ledger.planAppend],
    ['edit', () => two.ledger.planEdit],
    ['delete', () => two.ledger.planDelete],
  ] as const;
  for (const [operation, method] of updates) {
    const cast = await makePlan(db, 'base');
    const by = { principal: cast.agent, task_id: cast.task };
    const texts = { content: 'new', fragment: 'new', old_text: 'base', new_text: 'new' };
    const update = method() as (values: object) => Promise<unknown>;
    const { second } = await inTurn(
      cast.task,
      () => one.ledger.planDelete(by),
      () => update({ ...by, ...texts, expected_version: cast.created.version }),
    );
    await expectRefused(second, cast.task, {
      code: 'plan_not_found',
      operation,
    });
    expect(await db.ledger.planGet(by)).toBeNull();
    expect(await history(db, cast)).toEqual(['base']);
  }
});

test('a deletion after a replace removes the new text from HEAD and keeps it in history', async () => {
  const cast = await makePlan(db, 'base');
  const by = { principal: cast.agent, task_id: cast.task };
  await inTurn(
    cast.task,
    () => one.ledger.planReplace({ ...by, content: 'base more', expected_version: cast.created.version }),
    () => two.ledger.planDelete(by),
  );
  expect(await db.ledger.planGet(by)).toBeNull();
  expect(await history(db, cast)).toEqual(['base more']);
});

test('an append after an edit lands on the edited text, an edit after an append conflicts', async () => {
  const cast = await makePlan(db, '- [ ] base');
  const by = { principal: cast.agent, task_id: cast.task };
  const tick = { old_text: '[ ]', new_text: '[x]' };
  const { first } = await inTurn(
    cast.task,
    () => one.ledger.planEdit({ ...by, ...tick, expected_version: cast.created.version }),
    () => two.ledger.planAppend({ ...by, fragment: '- [ ] more' }),
  );
  expect((await read(db, cast)).content).toBe('- [x] base\n\n- [ ] more');
  const { second } = await inTurn(
    cast.task,
    () => one.ledger.planAppend({ ...by, fragment: '- [ ] last' }),
    () => two.ledger.planEdit({ ...by, ...tick, expected_version: first.version }),
  );
  await expectRefused(second, cast.task, { code: 'plan_version_conflict', operation: 'edit' });
  expect((await read(db, cast)).content).toBe('- [x] base\n\n- [ ] more\n\n- [ ] last');
});

test('a restore after an append that coalesced into its source is refused, because the source changed', async () => {
  const cast = await makePlan(db, 'base');
  const by = { principal: cast.agent, task_id: cast.task };
  const source = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
  const restore = (expected_version: string) =>
    two.ledger.planRestore({
      ...by,
      revision_id: source.id,
      expected_version,
      expected_revision_version: source.revision_version,
    });
  const { first, second } = await inTurn(
    cast.task,
    () => one.ledger.planAppend({ ...by, fragment: 'joins' }),
    () => restore(cast.created.version),
  );
  expect(first).toMatchObject({ coalesced: true, revision_number: 1 });
  await expectRefused(second, cast.task, { code: 'plan_version_conflict', operation: 'restore' });
  checkRefusal(await failure(restore(first.version)), cast.task, {
    code: 'plan_revision_changed',
    operation: 'restore',
  });
  expect(await history(db, cast)).toEqual(['base\n\njoins']);
});

test('an append after a restore gets a revision of its own', async () => {
  const cast = await makePlan(db, 'base');
  const by = { principal: cast.agent, task_id: cast.task };
  const other = { principal: await otherAgent(db, cast), task_id: cast.task };
  const { version } = await db.ledger.planAppend({ ...other, fragment: 'other' });
  const source = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
  await inTurn(
    cast.task,
    () =>
      one.ledger.planRestore({
        ...by,
        revision_id: source.id,
        expected_version: version,
        expected_revision_version: source.revision_version,
      }),
    () => two.ledger.planAppend({ ...by, fragment: 'after' }),
  );
  expect(await history(db, cast)).toEqual(['base', 'base\n\nother', 'base', 'base\n\nafter']);
});

test('of two creations one wins and the other is told that a version is required', async () => {
  const cast = await makeCast(db);
  const by = { principal: cast.agent, task_id: cast.task };
  const { first, second } = await inTurn(
    cast.task,
    () => one.ledger.planCreate({ ...by, content: 'first' }),
    () => two.ledger.planCreate({ ...by, content: 'second' }),
  );
  await expectRefused(second, cast.task, {
    code: 'plan_version_required',
    operation: 'create',
    details: { current_version: first.version },
  });
  expect(await history(db, cast)).toEqual(['first']);
});

test('one request sent twice at the same time is written once', async () => {
  const cast = await makePlan(db, 'base');
  const call = { principal: cast.agent, task_id: cast.task, fragment: 'once', request_id: 'r' };
  const { first, second } = await inTurn(
    cast.task,
    () => one.ledger.planAppend(call),
    () => two.ledger.planAppend(call),
  );
  expect(second).toEqual({ value: { ...first, replayed: true } });
  expect((await read(db, cast)).content).toBe('base\n\nonce');
});

test('what rolls back leaves nothing for the writer behind it', async () => {
  const cast = await makePlan(db, 'base');
  const call = { principal: cast.agent, task_id: cast.task };
  await one.begin();
  await one.ledger.planAppend({ ...call, fragment: 'gone', request_id: 'r' });
  const waiting = two.ledger.planAppend({ ...call, fragment: 'stays', request_id: 'r' });
  await waitsFor(db, two, one, cast.task);
  await one.rollback();
  expect(await waiting).toMatchObject({ replayed: false });
  expect(await history(db, cast)).toEqual(['base\n\nstays']);
});
