import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/ledger/errors.ts';
import { useDatabase } from '../../support/fixture.ts';
import { expectRefusal } from '../observe.ts';
import { makePlan, read } from '../plans.ts';
import { editVectors } from '../vectors/load.ts';

const db = useDatabase();

test('the vectors are all there', () => {
  expect(editVectors).toHaveLength(15);
});

test.each(editVectors)('$name', async ({ stored, old_text, new_text, content, error, count }) => {
  const cast = await makePlan(db, stored, 'The title');
  const edit = () =>
    db.ledger.planEdit({
      principal: cast.agent,
      task_id: cast.task,
      expected_version: cast.created.version,
      old_text,
      new_text,
    });
  if (error !== undefined) {
    await expectRefusal(db, cast.task, edit, {
      code: error as ErrorCode,
      operation: 'edit',
      details: { current_version: cast.created.version, ...(count === undefined ? {} : { occurrences: count }) },
    });
    return;
  }
  const edited = await edit();
  expect(edited).toMatchObject({ outcome: 'edited', title: 'The title', plan_id: cast.created.plan_id });
  expect(edited.version).not.toBe(cast.created.version);
  expect(await read(db, cast)).toMatchObject({ content, title: 'The title', version: edited.version });
});
