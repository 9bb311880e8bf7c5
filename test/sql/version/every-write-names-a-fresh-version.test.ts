import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest, failure, stored } from '../observe.ts';
import { age, makePlan, read } from '../plans.ts';

const db = useDatabase();

test('every successful write makes a version never seen before, and the plan then has exactly that one', async () => {
  const cast = await makeCast(db);
  const by = { principal: cast.agent, task_id: cast.task };
  const seen: string[] = [];
  const keep = async (ack: { version: string; revision_number: number; title: string; content_bytes: number }) => {
    seen.push(ack.version);
    const plan = await read(db, cast);
    const { version, revision_number, title, content_bytes } = ack;
    expect(plan).toMatchObject({ version, revision_number, title, content_bytes });
    await expectHeadIsLatest(db, cast.task);
    return ack.version;
  };
  const created = await db.ledger.planCreate({ ...by, content: 'a\n' });
  let version = await keep(created);
  version = await keep(await db.ledger.planReplace({ ...by, content: 'a\n', expected_version: version })); // identical
  version = await keep(await db.ledger.planCreate({ ...by, content: 'a\n', expected_version: version }));
  version = await keep(
    await db.ledger.planReplace({ ...by, content: 'a\n', title: 'Only the title', expected_version: version }),
  );
  version = await keep(await db.ledger.planEdit({ ...by, expected_version: version, old_text: 'a', new_text: 'a' }));
  version = await keep(await db.ledger.planAppend({ ...by, fragment: 'b' }));
  version = await keep(
    await db.ledger.planReplace({ principal: cast.user, task_id: cast.task, content: 'by Ann', policy: 'browser' }),
  );
  const source = await db.ledger.revisionGet({ ...by, revision_id: created.revision_id });
  version = await keep(
    await db.ledger.planRestore({
      ...by,
      revision_id: source.id,
      expected_version: version,
      expected_revision_version: source.revision_version,
    }),
  );
  await keep(
    await db.ledger.planRevert({ principal: cast.user, task_id: cast.task, revision_id: created.revision_id }),
  );
  await db.ledger.planDelete(by);
  await keep(await db.ledger.planCreate({ ...by, content: 'a\n' }));
  expect(new Set(seen).size).toBe(10);
});

test('a version is not derived from content, number or time', async () => {
  const [one, other] = [await makePlan(db, 'same text'), await makePlan(db, 'same text')];
  expect(one.created.version).not.toBe(other.created.version);
  const { version, id, revision_id } = await read(db, one);
  expect(new Set([version, id, revision_id]).size).toBe(3);
});

test('a version stays while the plan is read, marked, listed, and its refused writes come and go', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  await db.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session });
  await db.ledger.revisionList(by);
  await failure(db.ledger.planReplace({ ...by, content: 'b' }));
  await age(db, cast.task, '1 hour');
  expect((await read(db, cast)).version).toBe(cast.created.version);
});

test('an acknowledgement keeps the version it committed, whatever follows at once', async () => {
  const cast = await makePlan(db, 'a');
  const acks = await Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: `fragment ${n}` }),
    ),
  );
  expect(new Set(acks.map(({ version }) => version)).size).toBe(12);
  const last = acks.toSorted((a, b) => b.content_bytes - a.content_bytes)[0];
  expect(await read(db, cast)).toMatchObject({ version: last?.version, content_bytes: last?.content_bytes });
});

test('of writes that carry one expected version, one commits and the others conflict', async () => {
  const cast = await makePlan(db, 'start');
  const call = { principal: cast.agent, task_id: cast.task, expected_version: cast.created.version };
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, (_, n) => [
      db.ledger.planReplace({ ...call, content: `replaced ${n}` }),
      db.ledger.planEdit({ ...call, old_text: 'start', new_text: `edited ${n}` }),
      db.ledger.planAppend({ ...call, fragment: `appended ${n}` }),
    ]).flat(),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = answers.filter((answer) => answer.status === 'rejected').map(({ reason }) => reason.code);
  expect(new Set(refused)).toEqual(new Set(['plan_version_conflict']));
  const events = await db.admin`select kind from planledger.events where task_id = ${cast.task} and kind like 'plan.%'`;
  expect(events).toHaveLength(2);
});

test('a version of before a deletion, of another task, and any other text are conflicts', async () => {
  const [cast, other] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
  const by = { principal: cast.agent, task_id: cast.task };
  await db.ledger.planDelete(by);
  await db.ledger.planCreate({ ...by, content: 'a' });
  const before = await stored(db, cast.task);
  for (const expected_version of [cast.created.version, other.created.version, '1', "'; --", ' ', 'é'.repeat(3000)]) {
    const error = await failure(db.ledger.planReplace({ ...by, content: 'c', expected_version }));
    expect(error.code).toBe('plan_version_conflict');
  }
  expect(await stored(db, cast.task)).toEqual(before);
});
