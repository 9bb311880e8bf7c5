import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { canary, expectHeadIsLatest, expectRefusal } from '../observe.ts';
import { age, history, makePlan, read } from '../plans.ts';

const db = useDatabase();

test('a repeated fragment is appended once more each time, and every acknowledgement names a fresh version', async () => {
  const cast = await makePlan(db, 'a');
  const call = { principal: cast.agent, task_id: cast.task, fragment: 'b' };
  const versions = [cast.created.version];
  for (let i = 0; i < 3; i++) versions.push((await db.ledger.planAppend(call)).version);
  expect((await read(db, cast)).content).toBe('a\n\nb\n\nb\n\nb');
  expect(new Set(versions).size).toBe(4);
});

test('an expected version is checked only when it is sent', async () => {
  const cast = await makePlan(db, `a ${canary}`);
  const call = { principal: cast.agent, task_id: cast.task, fragment: 'b' };
  await expectRefusal(db, cast.task, () => db.ledger.planAppend({ ...call, expected_version: 'no such version' }), {
    code: 'plan_version_conflict',
    operation: 'append',
    details: { current_version: cast.created.version },
  });
  await db.ledger.planAppend({ ...call, expected_version: '' });
  const { version } = await read(db, cast);
  await db.ledger.planAppend({ ...call, expected_version: version });
  expect((await read(db, cast)).content).toBe(`a ${canary}\n\nb\n\nb`);
});

test('acknowledging a truncation is refused without reduction details, and false is no acknowledgement', async () => {
  const cast = await makePlan(db, canary.repeat(300));
  const call = { principal: cast.agent, task_id: cast.task, fragment: 'b' };
  const error = await expectRefusal(db, cast.task, () => db.ledger.planAppend({ ...call, allow_truncation: true }), {
    code: 'plan_append_truncation_not_applicable',
    operation: 'append',
  });
  expect(error.details).not.toHaveProperty('current_chars');
  expect(error.details).not.toHaveProperty('new_chars');
  expect(await db.ledger.planAppend({ ...call, allow_truncation: false })).toMatchObject({ outcome: 'appended' });
});

test('a title is taken, an empty or absent one keeps the stored one', async () => {
  const cast = await makePlan(db, 'a', 'First');
  const call = { principal: cast.agent, task_id: cast.task, fragment: 'b' };
  expect(await db.ledger.planAppend(call)).toMatchObject({ title: 'First' });
  expect(await db.ledger.planAppend({ ...call, title: '' })).toMatchObject({ title: 'First' });
  expect(await db.ledger.planAppend({ ...call, title: 'Second' })).toMatchObject({ title: 'Second' });
  expect(await read(db, cast)).toMatchObject({ title: 'Second', content: 'a\n\nb\n\nb\n\nb' });
});

test('shrinking by trimmed white space is no truncation', async () => {
  const cast = await makePlan(db, `a${' '.repeat(5_000)}`);
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
  expect((await read(db, cast)).content).toBe('a\n\nb');
});

test('without a plan there is nothing to append to, and none is made', async () => {
  const cast = await makeCast(db);
  await expectRefusal(
    db,
    cast.task,
    () => db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' }),
    { code: 'plan_not_found', operation: 'append' },
  );
});

test('appends past the fold of a segment run keep every fragment and every revision', async () => {
  const cast = await makePlan(db, 'base');
  const [row] = await db.app.unsafe(
    `select count(*)::int as done from generate_series(1, 1100) n,
      lateral planledger.plan_append(p_principal => $1, p_task_id => $2, p_fragment => 'fragment ' || n)`,
    [cast.agent, cast.task],
  );
  expect(row).toEqual({ done: 1_100 });
  await age(db, cast.task, '6 minutes');
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'last' });
  const folded = ['base', ...Array.from({ length: 1_100 }, (_, n) => `fragment ${n + 1}`)].join('\n\n');
  expect((await read(db, cast)).content).toBe(`${folded}\n\nlast`);
  expect(await history(db, cast)).toEqual([folded, `${folded}\n\nlast`]);
  await expectHeadIsLatest(db, cast.task);
});

test('an append to a white-space-only plan starts over, and the revision before keeps its white space', async () => {
  const cast = await makePlan(db, ' \n\u3000\t');
  await age(db, cast.task, '6 minutes');
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: '  \n  a \n ' });
  expect(await history(db, cast)).toEqual([' \n\u3000\t', '  a \n ']);
  await age(db, cast.task, '6 minutes');
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
  expect(await history(db, cast)).toEqual([' \n\u3000\t', '  a \n ', '  a\n\nb']);
});
