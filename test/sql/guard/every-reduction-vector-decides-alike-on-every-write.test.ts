import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest, expectRefusal } from '../observe.ts';
import { history, makePlan, read } from '../plans.ts';
import { reductionVectors } from '../vectors/load.ts';

const db = useDatabase();
const cases = reductionVectors.flatMap((vector) => [
  { ...vector, kind: 'one-byte', unit: 'x' },
  { ...vector, kind: 'astral', unit: '🚀' },
]);

test('the vectors are all there', () => {
  expect(reductionVectors).toHaveLength(7);
});

test.each(cases)('$name, $kind characters', async ({ old_chars, new_chars, suspicious, unit }) => {
  const stored = unit.repeat(old_chars);
  const content = unit.repeat(new_chars);
  const cast = await makePlan(db, stored);
  const call = { principal: cast.agent, task_id: cast.task, expected_version: cast.created.version };
  const calls = {
    create: (allow: boolean) => db.ledger.planCreate({ ...call, content, allow_truncation: allow }),
    replace: (allow: boolean) => db.ledger.planReplace({ ...call, content, allow_truncation: allow }),
    edit: (allow: boolean) =>
      db.ledger.planEdit({ ...call, old_text: stored, new_text: content, allow_truncation: allow }),
  };
  if (!suspicious) {
    await calls.replace(false);
    expect((await read(db, cast)).content).toBe(content);
    return;
  }
  for (const [operation, write] of Object.entries(calls)) {
    const error = await expectRefusal(db, cast.task, () => write(false), {
      code: 'plan_truncation_rejected',
      operation,
      details: { current_chars: old_chars, new_chars, current_version: cast.created.version },
    });
    expect(error.message).toContain('unchanged');
    expect(error.message).toContain(`${old_chars}`);
    expect(error.message).toContain(`${new_chars}`);
    expect(error.nextAction).toMatch(/append/);
    expect(error.nextAction).toContain('edit_task_plan_kandev');
  }
  expect(await calls.edit(true)).toMatchObject({ coalesced: false, revision_number: 2 });
  expect(await history(db, cast)).toEqual([stored, content]);
  await expectHeadIsLatest(db, cast.task);
});
