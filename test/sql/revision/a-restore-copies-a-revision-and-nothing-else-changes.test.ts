import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest, expectRefusal, stored } from '../observe.ts';
import { age, history, makePlan, otherAgent, type Planned, read } from '../plans.ts';

const db = useDatabase();

/** A plan with a large first revision, a marker and a small acknowledged second revision. */
async function shrunken() {
  const cast = await makePlan(db, `${'é'.repeat(2_500)} \n\n`, 'Old title');
  const by = { principal: cast.agent, task_id: cast.task };
  await db.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session });
  await db.ledger.planReplace({
    ...by,
    content: 'small',
    title: 'New title',
    allow_truncation: true,
    expected_version: cast.created.version,
  });
  const { content } = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
  return { ...cast, original: content };
}

async function restoration(cast: Planned, revision_id = cast.created.revision_id, principal = cast.agent) {
  const by = { principal: cast.agent, task_id: cast.task };
  const { revision_version } = await db.ledger.revisionGet({ ...by, revision_id });
  const { version } = await read(db, cast);
  const target = { revision_id, expected_version: version, expected_revision_version: revision_version };
  return { principal, task_id: cast.task, ...target };
}

test('title and text are copied exactly into a new revision that names its source and its author', async () => {
  const cast = await shrunken();
  const before = await read(db, cast);
  const revisions = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task });
  const restored = await db.ledger.planRestore(await restoration(cast, undefined, cast.service));
  expect(restored).toMatchObject({ outcome: 'restored', revision_number: 3, coalesced: false, title: 'Old title' });
  const after = await read(db, cast);
  expect(after).toEqual({
    ...before,
    title: 'Old title',
    content: cast.original,
    content_bytes: restored.content_bytes,
    content_chars: 2_503,
    version: restored.version,
    revision_number: 3,
    revision_id: restored.revision_id,
    updated_at: after.updated_at,
  });
  expect(after.implementation_started_at).not.toBeNull();
  const [row, ...others] = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task });
  expect(row).toMatchObject({ author_kind: 'agent', author_name: 'CI', restored_from: cast.created.revision_id });
  expect(others).toEqual(revisions);
  expect(await history(db, cast)).toEqual([cast.original, 'small', cast.original]);
  await expectHeadIsLatest(db, cast.task);
});

test('a restore of a small revision over a large plan is no truncation question', async () => {
  const cast = await shrunken();
  await db.ledger.planRestore(await restoration(cast));
  const small = (await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task }))[1];
  await db.ledger.planRestore(await restoration(cast, small?.id));
  expect(await read(db, cast)).toMatchObject({ content: 'small', title: 'New title', revision_number: 4 });
});

test('where the plan already equals the revision nothing is written, but both versions are still checked', async () => {
  const cast = await shrunken();
  const call = await restoration(cast, (await read(db, cast)).revision_id);
  const before = await stored(db, cast.task);
  for (const [change, code] of [
    [{ expected_version: 'x' }, 'plan_version_conflict'],
    [{ expected_version: '' }, 'plan_version_required'],
    [{ expected_revision_version: 'x' }, 'plan_revision_changed'],
    [{ expected_revision_version: '' }, 'plan_revision_version_required'],
  ] as const) {
    await expectRefusal(db, cast.task, () => db.ledger.planRestore({ ...call, ...change }), {
      code,
      operation: 'restore',
    });
  }
  const head = await read(db, cast);
  expect(await db.ledger.planRestore(call)).toMatchObject({
    outcome: 'already_current',
    version: head.version,
    revision_number: head.revision_number,
    coalesced: false,
    replayed: false,
  });
  expect(await stored(db, cast.task)).toEqual(before);
  await db.ledger.planRestore(await restoration(cast));
  const source = await restoration(cast);
  expect((await db.ledger.planRestore(source)).outcome).toBe('already_current');
});

test('the same text under another title is not already current', async () => {
  const cast = await makePlan(db, 'a', 'One');
  await age(db, cast.task, '6 minutes');
  await db.ledger.planReplace({
    principal: cast.agent,
    task_id: cast.task,
    content: 'a',
    title: 'Two',
    expected_version: cast.created.version,
  });
  expect(await db.ledger.planRestore(await restoration(cast))).toMatchObject({ outcome: 'restored', title: 'One' });
});

test('a restore needs a plan, a revert does not: it makes a new one without a marker', async () => {
  const cast = await shrunken();
  const call = await restoration(cast);
  await db.ledger.planDelete({ principal: cast.agent, task_id: cast.task });
  await expectRefusal(db, cast.task, () => db.ledger.planRestore(call), {
    code: 'plan_not_found',
    operation: 'restore',
  });
  const revert = { principal: cast.user, task_id: cast.task, revision_id: cast.created.revision_id };
  const reverted = await db.ledger.planRevert(revert);
  expect(reverted).toMatchObject({ outcome: 'reverted', revision_number: 3, coalesced: false, title: 'Old title' });
  expect(reverted.plan_id).not.toBe(cast.created.plan_id);
  expect(await read(db, cast)).toMatchObject({
    id: reverted.plan_id,
    content: cast.original,
    created_by: 'user',
    implementation_started_at: null,
    implementation_started_session_id: null,
    implementation_started_by: null,
  });
  await expectHeadIsLatest(db, cast.task);
});

test('a revert is attributed to the person, keeps the plan and its marker, and writes even what is already there', async () => {
  const cast = await shrunken();
  const revert = { principal: cast.user, task_id: cast.task, revision_id: cast.created.revision_id };
  for (const revision_number of [3, 4]) {
    const ack = await db.ledger.planRevert(revert);
    expect(ack).toMatchObject({
      outcome: 'reverted',
      revision_number,
      coalesced: false,
      plan_id: cast.created.plan_id,
    });
  }
  const [row] = await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task });
  expect(row).toMatchObject({ author_kind: 'user', author_name: 'Ann', restored_from: cast.created.revision_id });
  expect((await read(db, cast)).implementation_started_at).not.toBeNull();
});

test('a revision of another task can be neither restored nor reverted to', async () => {
  const [cast, other] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
  const theirs = await db.ledger.revisionGet({
    principal: other.agent,
    task_id: other.task,
    revision_id: other.created.revision_id,
  });
  const call = { task_id: cast.task, revision_id: theirs.id };
  const versions = { expected_version: cast.created.version, expected_revision_version: theirs.revision_version };
  await expectRefusal(db, cast.task, () => db.ledger.planRestore({ principal: cast.agent, ...call, ...versions }), {
    code: 'revision_not_found',
    operation: 'restore',
  });
  await expectRefusal(db, cast.task, () => db.ledger.planRevert({ principal: cast.user, ...call }), {
    code: 'revision_not_found',
    operation: 'revert',
  });
});

test('an imported text above the limit stays readable, listable and restorable, and is never rewritten', async () => {
  const cast = await makePlan(db, 'x'.repeat(200_000));
  await db.admin`
    update planledger.plan_segments set body = repeat('y', 300000) where task_id = ${cast.task}`;
  await db.admin`
    update planledger.plan_revisions set content_bytes = 300000, content_chars = 300000 where task_id = ${cast.task}`;
  await age(db, cast.task, '6 minutes');
  const by = { principal: cast.agent, task_id: cast.task };
  expect((await read(db, cast)).content).toBe('y'.repeat(300_000));
  expect(await db.ledger.revisionList(by)).toMatchObject([{ content_bytes: 300_000 }]);
  await expectRefusal(db, cast.task, () => db.ledger.planAppend({ ...by, fragment: 'z' }), {
    code: 'plan_content_too_large',
    operation: 'append',
    details: { content_bytes: 300_003 },
  });
  const expected_version = cast.created.version;
  await db.ledger.planReplace({ ...by, content: 'z'.repeat(150_000), expected_version });
  expect(await db.ledger.planRestore(await restoration(cast))).toMatchObject({ content_bytes: 300_000 });
  const user = { principal: cast.user, task_id: cast.task, revision_id: cast.created.revision_id };
  expect(await db.ledger.planRevert(user)).toMatchObject({ content_bytes: 300_000 });
  expect((await history(db, cast)).map((text) => text.length)).toEqual([300_000, 150_000, 300_000, 300_000]);
});

test('another agent may restore, and is named', async () => {
  const cast = await shrunken();
  const principal = await otherAgent(db, cast);
  const ack = await db.ledger.planRestore(await restoration(cast, undefined, principal));
  const [row] = await db.admin`select author_id from planledger.plan_revisions where id = ${ack.revision_id}`;
  expect(row).toEqual({ author_id: principal });
});
