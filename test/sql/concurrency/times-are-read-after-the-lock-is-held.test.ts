import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession, type Session, waitsFor } from '../sessions.ts';

const db = useDatabase();
let holder: Session;
let waiter: Session;

beforeAll(async () => {
  holder = await openSession(db, 'holder');
  waiter = await openSession(db, 'waiter');
});
afterAll(() => closeSessions(holder, waiter));

test('a window that closes during the wait is closed for the write that waited', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  await createLedger(db.admin).settingsChange({ coalesce_window: '300 milliseconds' });
  await holder.begin();
  await holder.ledger.planAppend({ ...by, fragment: 'held' });
  const waiting = waiter.ledger.planAppend({ ...by, fragment: 'waited' });
  await waitsFor(db, waiter, holder, cast.task);
  await db.admin`select pg_sleep(0.35)`;
  await holder.commit();
  expect(await waiting).toMatchObject({ coalesced: false });
  await createLedger(db.admin).settingsChange({ coalesce_window: '5 minutes' });
});

test('a transaction that began first and wrote last has the later time', async () => {
  const cast = await makePlan(db, 'a');
  await holder.begin();
  await holder.sql`select now()`;
  await waiter.ledger.planAppend({ principal: cast.user, task_id: cast.task, fragment: 'first' });
  await holder.ledger.planAppend({ principal: cast.service, task_id: cast.task, fragment: 'second' });
  await holder.commit();
  const [row] = await db.admin`
    select array_agg(revision_number::int order by created_at) as numbers,
      bool_and(created_at <= updated_at) as ordered
    from planledger.plan_revisions where task_id = ${cast.task}`;
  expect(row).toEqual({ numbers: [1, 2, 3], ordered: true });
});
