import { expect, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect } from '../../src/postgres/connect.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();

test('reading goes on while every connection for writes waits for one task', async () => {
  const busy = await makeCast(db);
  const other = await makeCast(db);
  await db.ledger.planCreate({ principal: busy.user, task_id: busy.task, content: 'busy' });
  await db.ledger.planCreate({ principal: other.user, task_id: other.task, content: 'other' });
  const writers = await connect(db.url, { max: 2 });
  const readers = await connect(db.url, { max: 1 });
  const ledger = createLedger(writers, readers);
  const holder = await db.admin.reserve();
  await holder`begin`;
  await holder`select pg_advisory_xact_lock(planledger.lock_key('plan', ${busy.task}))`;
  const waiting = ['a', 'b', 'c'].map((fragment) =>
    ledger.planAppend({ principal: busy.user, task_id: busy.task, fragment }),
  );
  await expect
    .poll(() => db.admin`select from planledger.locks where task_id = ${busy.task} and state = 'waits'`)
    .toHaveLength(2);
  const plan = await ledger.planGet({ principal: other.user, task_id: other.task });
  expect(plan?.content).toBe('other');
  expect(await db.admin`select from planledger.locks where task_id = ${busy.task} and state = 'waits'`).toHaveLength(2);
  await holder`rollback`;
  holder.release();
  await Promise.all(waiting);
  const written = await ledger.planGet({ principal: busy.user, task_id: busy.task });
  expect(written?.content.split('\n\n').sort()).toEqual(['a', 'b', 'busy', 'c']);
  await Promise.all([writers.end(), readers.end()]);
});
