import { expect, onTestFinished, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';

const db = useDatabase();

test('a merging write after an older revision was deleted by hand keeps HEAD, its number and its text', async () => {
  const { user, service, task } = await makeCast(db);
  const by = { principal: user, task_id: task };
  await db.ledger.planCreate({ ...by, content: 'one' });
  await db.ledger.planAppend({ ...by, principal: service, fragment: 'two' });
  const third = await db.ledger.planAppend({ ...by, fragment: 'three' });
  await db.admin`delete from planledger.plan_revisions where task_id = ${task} and revision_number = 2`;
  const replaced = await db.ledger.planReplace({
    ...by,
    content: 'one\n\ntwo\n\nthree, changed',
    expected_version: third.version,
  });
  expect(replaced).toMatchObject({ outcome: 'replaced', revision_number: 3, coalesced: true });
  expect(await db.ledger.planGet(by)).toMatchObject({
    content: 'one\n\ntwo\n\nthree, changed',
    version: replaced.version,
    revision_number: 3,
  });
});

test('a plan whose current revision was deleted by hand can be created and appended to again', async () => {
  const { user, service, task } = await makeCast(db);
  const by = { principal: user, task_id: task };
  await db.ledger.planCreate({ ...by, content: 'one' });
  await db.ledger.planAppend({ ...by, principal: service, fragment: 'two' });
  await db.admin`delete from planledger.plan_revisions where task_id = ${task} and revision_number = 2`;
  expect(await db.ledger.planCreate({ ...by, content: 'again' })).toMatchObject({ outcome: 'created' });
  await db.ledger.planAppend({ ...by, fragment: 'more' });
  expect((await db.ledger.planGet(by))?.content).toBe('again\n\nmore');
});

test('a segment left behind is stepped over by the next append', async () => {
  const { user, service, task } = await makeCast(db);
  const by = { principal: user, task_id: task };
  await db.ledger.planCreate({ ...by, content: 'one' });
  await db.admin`insert into planledger.plan_segments (task_id, seq, body) values (${task}, 2, 'stray')`;
  await db.ledger.planAppend({ ...by, fragment: 'two' });
  await db.admin`insert into planledger.plan_segments (task_id, seq, body) values (${task}, 90, 'stray')`;
  await db.ledger.planAppend({ ...by, principal: service, fragment: 'three' });
  expect((await db.ledger.planGet(by))?.content).toBe('one\n\ntwo\n\nthree');
});

test.each(['append', 'append with a request id', 'replace'])(
  'behind a HEAD moved by hand to an older revision, %s adds a revision and the newer text stays',
  async (write) => {
    const { user, service, task } = await makeCast(db);
    const by = { principal: user, task_id: task };
    const first = await db.ledger.planCreate({ ...by, content: 'one' });
    const { revision_id } = await db.ledger.planAppend({ ...by, principal: service, fragment: 'two' });
    await db.admin`update planledger.plans set revision_number = 1 where task_id = ${task}`;
    const ack =
      write === 'replace'
        ? await db.ledger.planReplace({ ...by, content: 'one\n\nthree', expected_version: first.version })
        : await db.ledger.planAppend({ ...by, fragment: 'three', request_id: write === 'append' ? null : 'r' });
    expect(ack).toMatchObject({ revision_number: 3, coalesced: false });
    expect((await db.ledger.planGet(by))?.content).toBe('one\n\nthree');
    expect((await db.ledger.revisionGet({ ...by, revision_id })).content).toBe('one\n\ntwo');
  },
);

test('segments that may not be read are told as an unreadable plan', async () => {
  const { user, service, task } = await makeCast(db);
  const by = { principal: user, task_id: task };
  await db.ledger.planCreate({ ...by, content: 'one' });
  await db.admin`revoke select on planledger.plan_segments from planledger_owner`;
  onTestFinished(async () => void (await db.admin`grant select on planledger.plan_segments to planledger_owner`));
  const call = db.ledger.planAppend({ ...by, principal: service, fragment: 'two' });
  await expect(call).rejects.toMatchObject({ code: 'plan_head_unavailable', writeApplied: false });
});
