import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { canary, expectRefusal } from '../observe.ts';
import { makePlan, read } from '../plans.ts';

const db = useDatabase();

test.each([
  { stored: 'ab '.repeat(2), times: 2, told: 2 },
  { stored: 'ab '.repeat(99), times: 99, told: 99 },
  { stored: 'ab '.repeat(100), times: 100, told: 100 },
  { stored: 'ab '.repeat(101), times: 101, told: 'more than 100' },
  { stored: 'ab '.repeat(5000), times: 5000, told: 'more than 100' },
])('$times occurrences are told as $told', async ({ stored, told }) => {
  const cast = await makePlan(db, stored);
  const error = await expectRefusal(
    db,
    cast.task,
    () =>
      db.ledger.planEdit({
        principal: cast.agent,
        task_id: cast.task,
        expected_version: cast.created.version,
        old_text: 'ab',
        new_text: canary,
      }),
    { code: 'plan_edit_ambiguous', operation: 'edit', details: { occurrences: told } },
  );
  expect(error.message).toContain(`${told}`);
});

test('overlapping occurrences count up to a hundred too', async () => {
  const cast = await makePlan(db, 'a'.repeat(101));
  const call = { principal: cast.agent, task_id: cast.task, expected_version: cast.created.version, new_text: 'x' };
  await expectRefusal(db, cast.task, () => db.ledger.planEdit({ ...call, old_text: 'aa' }), {
    code: 'plan_edit_ambiguous',
    operation: 'edit',
    details: { occurrences: 100 },
  });
  await expectRefusal(db, cast.task, () => db.ledger.planEdit({ ...call, old_text: 'a' }), {
    code: 'plan_edit_ambiguous',
    operation: 'edit',
    details: { occurrences: 'more than 100' },
  });
});

test('an occurrence at the very start, at the very end, and the whole text can be edited', async () => {
  const cast = await makePlan(db, 'éa🚀');
  const edit = async (old_text: string, new_text: string) =>
    db.ledger.planEdit({
      principal: cast.agent,
      task_id: cast.task,
      expected_version: (await read(db, cast)).version,
      old_text,
      new_text,
    });
  await edit('é', 'start');
  await edit('🚀', ' end\n');
  expect((await read(db, cast)).content).toBe('starta end\n');
  await edit('starta end\n', 'whole');
  expect((await read(db, cast)).content).toBe('whole');
});

test('a span over the joint of two appended fragments is found', async () => {
  const cast = await makePlan(db, 'one');
  const { version } = await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'two \n' });
  await db.ledger.planEdit({
    principal: cast.agent,
    task_id: cast.task,
    expected_version: version,
    old_text: 'e\n\nt',
    new_text: '-',
  });
  expect((await read(db, cast)).content).toBe('on-wo \n');
});

test('new_text must be given, and the refusal names it', async () => {
  const cast = await makePlan(db, 'one');
  await expectRefusal(
    db,
    cast.task,
    () =>
      db.ledger.planEdit({
        principal: cast.agent,
        task_id: cast.task,
        expected_version: cast.created.version,
        old_text: 'one',
        new_text: null,
      }),
    { code: 'validation_error', operation: 'edit', details: { argument: 'new_text' } },
  );
});

test('an edit may grow the plan to the limit exactly and not past it', async () => {
  const cast = await makePlan(db, `x${'é'.repeat(131_071)}`);
  const call = { principal: cast.agent, task_id: cast.task, expected_version: cast.created.version, old_text: 'x' };
  await expectRefusal(db, cast.task, () => db.ledger.planEdit({ ...call, new_text: 'xyz' }), {
    code: 'plan_content_too_large',
    operation: 'edit',
    details: { content_bytes: 262_145, limit_bytes: 262_144 },
  });
  expect(await db.ledger.planEdit({ ...call, new_text: 'xy' })).toMatchObject({ content_bytes: 262_144 });
});
