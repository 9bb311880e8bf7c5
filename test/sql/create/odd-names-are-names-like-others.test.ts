import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { expectRefusal, failure } from '../observe.ts';

const db = useDatabase();

test.each([
  { name: 'quotes and backslashes', odd: `"'\\"'{}` },
  { name: 'percent signs and placeholders', odd: '%s % %% $1 %1$s' },
  { name: 'line ends', odd: 'a\r\nb\n' },
  { name: 'astral, combining and right-to-left characters', odd: '🚀e\u0301\u202eא' },
  { name: 'control characters', odd: '\u0001\u001b[31m\u007f' },
  { name: 'a space', odd: ' ' },
  { name: 'the word null', odd: 'null' },
])('$name in a task id, a title and a request id', async ({ odd }) => {
  const { user } = await makeCast(db);
  const task_id = `${odd}${odd}`;
  const by = { principal: user, task_id };
  await db.ledger.taskCreate({ ...by, title: odd });
  await expectRefusal(db, task_id, () => db.ledger.planAppend({ ...by, fragment: 'x' }), {
    code: 'plan_not_found',
    operation: 'append',
  });
  const call = { ...by, content: 'a', title: odd, request_id: odd };
  const created = await db.ledger.planCreate(call);
  expect(created).toMatchObject({ task_id, title: odd });
  expect(await db.ledger.planCreate(call)).toEqual({ ...created, replayed: true });
  await expectRefusal(db, task_id, () => db.ledger.planCreate({ ...call, content: 'b' }), {
    code: 'idempotency_conflict',
    operation: 'create',
    details: { request_id: odd },
  });
  await expectRefusal(db, task_id, () => db.ledger.planReplace({ ...by, content: 'b', expected_version: odd }), {
    code: 'plan_version_conflict',
    operation: 'replace',
  });
  await expectRefusal(db, task_id, () => db.ledger.revisionGet({ ...by, revision_id: odd }), {
    code: 'revision_not_found',
    operation: 'get_revision',
  });
  const outsider = await makeCast(db);
  const error = await failure(db.ledger.planGet({ principal: outsider.user, task_id }));
  expect(error).toMatchObject({ code: 'task_unreachable', taskId: task_id });
  expect(await db.ledger.planGet(by)).toMatchObject({ task_id, title: odd, content: 'a' });
});
