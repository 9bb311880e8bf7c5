import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectRefusal } from '../observe.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();

test.each([
  { one: { fragment: 'ab', title: 'c' }, other: { fragment: 'a', title: 'bc' } },
  { one: { fragment: 'ab', title: null }, other: { fragment: 'ab', title: 'null' } },
  { one: { fragment: 'ab', title: null }, other: { fragment: 'ab', title: 'NULL' } },
  { one: { fragment: 'ab' }, other: { fragment: 'ab ' } },
  { one: { fragment: 'ab' }, other: { fragment: '\nab' } },
  { one: { fragment: 'caf\u00e9' }, other: { fragment: 'cafe\u0301' } },
  { one: { fragment: 'a,b', title: 'c' }, other: { fragment: 'a', title: 'b,c' } },
  { one: { fragment: 'a\nb', title: 'c' }, other: { fragment: 'a', title: 'b\nc' } },
  { one: { fragment: 'a","b', title: 'c' }, other: { fragment: 'a', title: 'b","c' } },
])('an append with $one is not one with $other', async ({ one, other }) => {
  const cast = await makePlan(db, 'stored');
  const by = { principal: cast.agent, task_id: cast.task, request_id: 'r' };
  const answer = await db.ledger.planAppend({ ...by, ...one });
  await expectRefusal(db, cast.task, () => db.ledger.planAppend({ ...by, ...other }), {
    code: 'idempotency_conflict',
    operation: 'append',
  });
  expect(await db.ledger.planAppend({ ...by, ...one })).toEqual({ ...answer, replayed: true });
});

test('an edit that moves a character from old_text to new_text is another', async () => {
  const cast = await makePlan(db, 'abc');
  const by = { principal: cast.agent, task_id: cast.task, expected_version: cast.created.version, request_id: 'r' };
  await db.ledger.planEdit({ ...by, old_text: 'ab', new_text: 'c' });
  for (const texts of [
    { old_text: 'a', new_text: 'bc' },
    { old_text: 'abc', new_text: '' },
  ]) {
    await expectRefusal(db, cast.task, () => db.ledger.planEdit({ ...by, ...texts }), {
      code: 'idempotency_conflict',
      operation: 'edit',
    });
  }
});

test('a repeat from a session with other settings is the same request, and its revision has the same digest', async () => {
  const cast = await makePlan(db, 'abc');
  const by = { principal: cast.agent, task_id: cast.task };
  const call = { ...by, fragment: 'é\\ \u0001', request_id: 'r' };
  const answer = await db.ledger.planAppend(call);
  const revision = await db.ledger.revisionGet({ ...by, revision_id: answer.revision_id });
  const session = await openSession(db, 'other settings');
  await session.sql.unsafe(`
    set timezone = 'Pacific/Chatham'; set datestyle = 'SQL, DMY'; set intervalstyle = 'iso_8601';
    set bytea_output = 'escape'; set extra_float_digits = 0; set backslash_quote = off;
    set standard_conforming_strings = on; set search_path = pg_catalog; set xmloption = 'document'`);
  expect(await session.ledger.planAppend(call)).toEqual({ ...answer, replayed: true });
  const { revision_version } = await session.ledger.revisionGet({ ...by, revision_id: answer.revision_id });
  expect(revision_version).toBe(revision.revision_version);
  await closeSessions(session);
});
