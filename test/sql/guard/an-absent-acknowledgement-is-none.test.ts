import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectRefusal } from '../observe.ts';
import { makePlan, read } from '../plans.ts';

const db = useDatabase();

test.each([null, undefined, false])(
  'allow_truncation %s does not let a reduction through',
  async (allow_truncation) => {
    const stored = 'x'.repeat(2_000);
    const cast = await makePlan(db, stored);
    const call = {
      principal: cast.agent,
      task_id: cast.task,
      expected_version: cast.created.version,
      allow_truncation,
    };
    for (const [operation, write] of [
      ['create', () => db.ledger.planCreate({ ...call, content: 'y' })],
      ['replace', () => db.ledger.planReplace({ ...call, content: 'y' })],
      ['edit', () => db.ledger.planEdit({ ...call, old_text: stored, new_text: 'y' })],
    ] as const) {
      await expectRefusal(db, cast.task, write, { code: 'plan_truncation_rejected', operation });
    }
    const appended = await db.ledger.planAppend({ ...call, fragment: 'y' });
    expect(appended).toMatchObject({ outcome: 'appended' });
  },
);

test('an edit that would leave nothing is refused as empty, acknowledged or not', async () => {
  const stored = 'x'.repeat(2_000);
  const cast = await makePlan(db, stored);
  const call = { principal: cast.agent, task_id: cast.task, expected_version: cast.created.version };
  for (const allow_truncation of [false, true]) {
    const edit = () => db.ledger.planEdit({ ...call, allow_truncation, old_text: stored, new_text: '' });
    await expectRefusal(db, cast.task, edit, { code: 'plan_content_required', operation: 'edit' });
  }
});

test('many small cuts are each judged against the text they find', async () => {
  const cast = await makePlan(db, 'x'.repeat(4_000));
  const call = { principal: cast.agent, task_id: cast.task };
  let { version } = cast.created;
  for (const length of [2_000, 1_000, 500, 1]) {
    const write = () => db.ledger.planReplace({ ...call, content: 'x'.repeat(length), expected_version: version });
    ({ version } = await write());
  }
  expect((await read(db, cast)).content).toBe('x'); // from 1,000 on the plan is below the floor
});
