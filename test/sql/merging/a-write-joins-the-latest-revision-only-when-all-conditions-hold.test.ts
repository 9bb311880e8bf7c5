import { afterEach, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest } from '../observe.ts';
import { age, history, makePlan, otherAgent, type Planned } from '../plans.ts';

const db = useDatabase();
const window = (coalesce_window: string) => createLedger(db.admin).settingsChange({ coalesce_window });
afterEach(() => window('5 minutes'));

const append = ({ task, ...cast }: Planned, fragment: string, principal = cast.agent) =>
  db.ledger.planAppend({ principal, task_id: task, fragment });

test('joining keeps number, id, author and creation time, and changes title, text, version and update time', async () => {
  const cast = await makePlan(db, 'a', 'Before');
  await age(db, cast.task, '1 minute');
  const by = { principal: cast.agent, task_id: cast.task };
  const [before] = await db.ledger.revisionList(by);
  const ack = await db.ledger.planAppend({ ...by, fragment: 'b', title: 'After' });
  expect(ack).toMatchObject({ coalesced: true, revision_number: 1, revision_id: before?.id });
  const after = await db.ledger.revisionList(by);
  expect(after).toEqual([{ ...before, title: 'After', content_bytes: 4, updated_at: after[0]?.updated_at }]);
  expect(Number(after[0]?.updated_at) - Number(before?.updated_at)).toBeGreaterThanOrEqual(60_000);
  const [{ id } = { id: '' }] = after;
  expect(await db.ledger.revisionGet({ ...by, revision_id: id })).toMatchObject({ content: 'a\n\nb', title: 'After' });
  const events = await db.admin`
    select kind, revision_number, coalesced from planledger.events where task_id = ${cast.task} and kind like 'plan.%' order by id`;
  expect(events).toEqual([
    { kind: 'plan.created', revision_number: 1, coalesced: false },
    { kind: 'plan.updated', revision_number: 1, coalesced: true },
  ]);
});

test.each([
  { since: '4 minutes 50 seconds', created: '4 minutes 50 seconds', joins: true },
  { since: '5 minutes', created: '5 minutes', joins: false },
  { since: '1 minute', created: '59 minutes 50 seconds', joins: true },
  { since: '1 minute', created: '60 minutes', joins: false },
])('updated $since and created $created ago: joins $joins', async ({ since, created, joins }) => {
  const cast = await makePlan(db, 'a');
  await age(db, cast.task, since, created);
  expect(await append(cast, 'b')).toMatchObject({ coalesced: joins, revision_number: joins ? 1 : 2 });
  expect(await history(db, cast)).toEqual(joins ? ['a\n\nb'] : ['a', 'a\n\nb']);
  await expectHeadIsLatest(db, cast.task);
});

test.each(['0', '-1 minute', '-1 year 361 days', '-360 days 1 month'])(
  'a window of %s never joins',
  async (setting) => {
    const cast = await makePlan(db, 'a');
    await window(setting);
    expect(await append(cast, 'b')).toMatchObject({ coalesced: false, revision_number: 2 });
    expect(await append(cast, 'c')).toMatchObject({ coalesced: false, revision_number: 3 });
  },
);

test('a window may be as long as 360 days, and is kept as the time it is', async () => {
  expect((await window('360 days')).coalesce_window).toBe('8640:00:00');
  expect((await window('1 month')).coalesce_window).toBe('720:00:00');
  expect((await window('1 year -360 days')).coalesce_window).toBe('126:00:00');
  expect((await window('-1 minute')).coalesce_window).toBe('00:00:00');
  for (const longer of ['361 days', '1 year', 'infinity']) {
    await expect(window(longer)).rejects.toMatchObject({ code: 'validation_error' });
  }
  await window('30 days');
  const cast = await makePlan(db, 'a');
  await age(db, cast.task, '29 days 23 hours');
  expect(await append(cast, 'b')).toMatchObject({ coalesced: true });
  await age(db, cast.task, '30 days 1 hour');
  expect(await append(cast, 'c')).toMatchObject({ coalesced: false });
});

test.each([undefined, 'with-request-id'])(
  'a clock that was ahead counts the same however an append goes: %s',
  async (id) => {
    const cast = await makePlan(db, 'a');
    await db.admin`update planledger.plan_revisions
    set created_at = created_at - interval '30 minutes', updated_at = updated_at + interval '2 hours'
    where task_id = ${cast.task}`;
    const by = { principal: cast.agent, task_id: cast.task };
    const ack = await db.ledger.planAppend({ ...by, fragment: 'b', request_id: id });
    expect(ack).toMatchObject({ coalesced: false, revision_number: 2 }); // 2.5 hours after it was created
  },
);

test('the window is one setting for every connection at once', async () => {
  const cast = await makePlan(db, 'a');
  await age(db, cast.task, '50 minutes');
  await window('1 hour');
  expect(await append(cast, 'b')).toMatchObject({ coalesced: true });
  await window('30 minutes');
  await age(db, cast.task, '40 minutes');
  expect(await append(cast, 'c')).toMatchObject({ coalesced: false });
});

test('two agents with one name are two authors, and a service and a user others still', async () => {
  const cast = await makePlan(db, 'a');
  const other = await otherAgent(db, cast);
  for (const [at, principal] of [other, cast.agent, cast.service, cast.user, cast.agent].entries()) {
    expect(await append(cast, `${at}`, principal)).toMatchObject({ coalesced: false, revision_number: at + 2 });
    expect(await append(cast, `${at} again`, principal)).toMatchObject({ coalesced: true, revision_number: at + 2 });
  }
  await expectHeadIsLatest(db, cast.task);
});

test('one user joins whether they write in the browser or elsewhere', async () => {
  const cast = await makePlan(db, 'a');
  const user = { principal: cast.user, task_id: cast.task };
  const { version } = await db.ledger.planReplace({ ...user, content: 'a b', policy: 'browser' });
  const ack = await db.ledger.planReplace({ ...user, content: 'a b c', expected_version: version });
  expect(ack).toMatchObject({ coalesced: true, revision_number: 2 });
});

test('restore, revert and acknowledged reduction are joined by nobody, nor do they join', async () => {
  const cast = await makePlan(db, 'x'.repeat(2_000));
  const by = { principal: cast.agent, task_id: cast.task };
  const source = await db.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
  const numbers: number[] = [];
  const next = (ack: { revision_number: number; version: string }) => {
    numbers.push(ack.revision_number);
    return ack.version;
  };
  let version = next(
    await db.ledger.planReplace({
      ...by,
      content: 'cut',
      allow_truncation: true,
      expected_version: cast.created.version,
    }),
  );
  version = next(await append(cast, 'own'));
  version = next(await append(cast, 'joins'));
  version = next(
    await db.ledger.planRestore({
      ...by,
      revision_id: source.id,
      expected_version: version,
      expected_revision_version: source.revision_version,
    }),
  );
  next(await append(cast, 'own'));
  const user = { principal: cast.user, task_id: cast.task };
  next(await db.ledger.planRevert({ ...user, revision_id: source.id }));
  next(await db.ledger.planRevert({ ...user, revision_id: source.id }));
  next(await db.ledger.planAppend({ ...user, fragment: 'own' }));
  next(await db.ledger.planAppend({ ...user, fragment: 'joins' }));
  expect(numbers).toEqual([2, 3, 3, 4, 5, 6, 7, 8, 8]);
  await expectHeadIsLatest(db, cast.task);
});

test('a plan created again never joins, although author and time would allow it', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  await db.ledger.planDelete(by);
  const again = await db.ledger.planCreate({ ...by, content: 'b' });
  expect(again).toMatchObject({ outcome: 'created', coalesced: false, revision_number: 2 });
  expect(again.plan_id).not.toBe(cast.created.plan_id);
  expect(await append(cast, 'c')).toMatchObject({ coalesced: true, revision_number: 2 });
  expect(await history(db, cast)).toEqual(['a', 'b\n\nc']);
});

test('a rewrite that joins leaves the revision before it alone, whose base it shared', async () => {
  const cast = await makePlan(db, 'base');
  await age(db, cast.task, '6 minutes');
  const { version } = await append(cast, 'more');
  const by = { principal: cast.agent, task_id: cast.task };
  await db.ledger.planReplace({ ...by, content: 'rewritten', expected_version: version });
  await append(cast, 'on');
  expect(await history(db, cast)).toEqual(['base', 'rewritten\n\non']);
});
