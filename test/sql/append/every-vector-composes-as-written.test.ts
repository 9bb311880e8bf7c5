import { expect, test } from 'vitest';
import type { ErrorCode } from '../../../src/ledger/errors.ts';
import { useDatabase } from '../../support/fixture.ts';
import { expectRefusal } from '../observe.ts';
import { history, makePlan, read } from '../plans.ts';
import { appendVectors, spell } from '../vectors/load.ts';

const db = useDatabase();

test('the vectors are all there', () => {
  expect([appendVectors.cases.length, appendVectors.sizes.length]).toEqual([28, 5]);
});

test.each(appendVectors.cases)('$name', async ({ stored, fragment, content, error }) => {
  const cast = await makePlan(db, stored, 'The title');
  const append = () => db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment });
  if (error !== undefined) {
    await expectRefusal(db, cast.task, append, { code: error as ErrorCode, operation: 'append' });
    return;
  }
  const appended = await append();
  expect(appended).toMatchObject({
    task_id: cast.task,
    plan_id: cast.created.plan_id,
    outcome: 'appended',
    title: 'The title',
    content_bytes: Buffer.byteLength(content ?? ''),
    content_chars: [...(content ?? '')].length,
    replayed: false,
  });
  const plan = await read(db, cast);
  expect(plan).toMatchObject({ content, title: 'The title', version: appended.version });
  expect((await history(db, cast)).at(-1)).toBe(content);
});

test.each(appendVectors.sizes)('size: $name', async ({ stored, fragment, composed_bytes, ok }) => {
  const cast = await makePlan(db, spell(stored));
  const append = () => db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: spell(fragment) });
  if (ok) {
    expect(await append()).toMatchObject({ content_bytes: composed_bytes });
    expect(Buffer.byteLength((await read(db, cast)).content)).toBe(composed_bytes);
    return;
  }
  const error = await expectRefusal(db, cast.task, append, {
    code: 'plan_content_too_large',
    operation: 'append',
    details: { content_bytes: composed_bytes, limit_bytes: 262_144 },
  });
  expect(error.message).toContain(`${composed_bytes}`);
  expect(error.message).toContain('262144');
  expect(error.retrySafe).toBe(false);
});
