import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession, type Session } from '../sessions.ts';

const db = useDatabase();
let one: Session;
let two: Session;

beforeAll(async () => {
  one = await openSession(db, 'one');
  two = await openSession(db, 'two');
});
afterAll(() => closeSessions(one, two));

/** Reads on from a cursor that begins now. */
async function openReader() {
  const [first] = await db.ledger.eventsRead({});
  expect(first).toMatchObject({ reset: true, id: null });
  let cursor = first?.cursor;
  return {
    cursor: () => cursor,
    async read() {
      const rows = await db.ledger.eventsRead({ cursor });
      expect(rows.every(({ reset }) => !reset)).toBe(true);
      cursor = rows[0]?.cursor;
      return rows.flatMap(({ task_id, kind }) => (task_id === null || kind === null ? [] : [{ task_id, kind }]));
    },
  };
}

test('what was committed since is read once and in order, and nothing of what was before', async () => {
  const cast = await makePlan(db, 'a');
  const reader = await openReader();
  expect(await reader.read()).toEqual([]);
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planAppend({ ...by, fragment: 'b' });
  await db.ledger.planDelete(by);
  await db.ledger.planCreate({ ...by, content: 'c' });
  expect(await reader.read()).toEqual(
    ['plan.updated', 'plan.deleted', 'plan.created'].map((kind) => ({ task_id: cast.task, kind })),
  );
  expect(await reader.read()).toEqual([]);
});

test('a transaction that commits late is not skipped, however many commit before it', async () => {
  const [late, early] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
  const reader = await openReader();
  await one.begin();
  await one.ledger.planAppend({ principal: late.user, task_id: late.task, fragment: 'late' });
  const append = () => db.ledger.planAppend({ principal: early.user, task_id: early.task, fragment: 'early' });
  const updated = ({ task }: { task: string }) => ({ task_id: task, kind: 'plan.updated' });
  for (let round = 0; round < 3; round += 1) {
    await append();
    expect(await reader.read()).toEqual([updated(early)]);
  }
  await one.commit();
  await append();
  expect((await reader.read()).sort((a, b) => a.task_id.localeCompare(b.task_id))).toEqual(
    [updated(late), updated(early)].sort((a, b) => a.task_id.localeCompare(b.task_id)),
  );
  expect(await reader.read()).toEqual([]);
});

test('what rolls back is never read, and savepoints count with their transaction', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.user, task_id: cast.task };
  const reader = await openReader();
  await one.begin();
  await one.sql`savepoint kept`;
  await one.ledger.planAppend({ ...by, fragment: 'kept' });
  await one.sql`release savepoint kept`;
  await one.sql`savepoint undone`;
  await one.ledger.planAppend({ ...by, fragment: 'undone' });
  await one.sql`rollback to savepoint undone`;
  expect(await reader.read()).toEqual([]);
  await one.commit();
  expect(await reader.read()).toEqual([{ task_id: cast.task, kind: 'plan.updated' }]);
  await two.begin();
  await two.ledger.planAppend({ ...by, fragment: 'undone' });
  await two.rollback();
  expect(await reader.read()).toEqual([]);
});

test('many writers that commit in any order: each event once', async () => {
  const casts = await Promise.all(Array.from({ length: 6 }, () => makeCast(db)));
  const reader = await openReader();
  const seen: { task_id: string; kind: string }[] = [];
  let writing = true;
  const writers = casts.map(async ({ user, task }, at) => {
    for (let n = 0; n < 15; n += 1) {
      await db.app
        .begin(async (sql) => {
          const ledger = createLedger(sql);
          await ledger.planCreate({ principal: user, task_id: task, content: `${n}`, policy: 'browser' });
          await sql`select pg_sleep(${((n * 7 + at * 3) % 10) / 1000})`;
          if (n % 5 === 4) throw new Error('undone');
        })
        .catch(() => {});
    }
  });
  const reading = (async () => {
    while (writing) seen.push(...(await reader.read()));
  })();
  await Promise.all(writers);
  writing = false;
  await reading;
  seen.push(...(await reader.read()));
  for (const { task } of casts) expect(seen.filter(({ task_id }) => task_id === task)).toHaveLength(12);
});

test('a cursor of the future and one that is none', async () => {
  const [row] = await db.admin<{ future: string }[]>`
    select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint + 1000)::text as future`;
  const future = `${row?.future}:${row?.future}:`;
  expect(await db.ledger.eventsRead({ cursor: future })).toMatchObject([{ reset: true, id: null }]);
  expect(await db.ledger.eventsRead({ cursor: '' })).toMatchObject([{ reset: true }]);
  await expect(db.ledger.eventsRead({ cursor: 'nonsense' })).rejects.toMatchObject({ code: 'validation_error' });
});

test('pruning takes what a stored snapshot saw, never what commits later, and a reader that is behind begins anew', async () => {
  const administrator = createLedger(db.admin);
  const prune = async (keep?: string) => Number((await administrator.eventsPrune({ keep })).events_prune);
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.user, task_id: cast.task };
  const [behind, level] = [await openReader(), await openReader()];
  await one.begin();
  await one.ledger.planAppend({ ...by, fragment: 'late' });
  await db.ledger.commentCreate({
    ...{ ...by, plan_id: cast.created.plan_id, comment_id: crypto.randomUUID(), body: 'x', selected_text: 'x' },
    ...{ anchor_from: 0, anchor_to: 0 },
  });
  expect(await prune()).toBe(0); // nothing was stored before
  expect(await prune()).toBe(0); // not ten minutes ago
  expect(await level.read()).toHaveLength(1);
  expect(await prune('0')).toBeGreaterThan(2); // of this test and those before
  expect(await level.read()).toEqual([]);
  await one.commit();
  expect(await level.read()).toEqual([{ task_id: cast.task, kind: 'plan.updated' }]);
  expect(await db.ledger.eventsRead({ cursor: behind.cursor() })).toMatchObject([{ reset: true, id: null }]);
  await expect(prune('-1 second')).rejects.toMatchObject({ code: 'validation_error' });
  await expect(db.ledger.eventsPrune({})).rejects.toMatchObject({ code: 'internal_error' }); // an administrator's
  expect(await prune()).toBe(0);
  await db.admin`update planledger.event_snapshots set taken_at = taken_at - interval '11 minutes'`;
  expect(await prune()).toBe(1);
  expect(await db.admin`select from planledger.events`).toHaveLength(0);
});

test('three that prune at once, and a clock that went back', async () => {
  const administrator = createLedger(db.admin);
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.user, task_id: cast.task };
  for (let n = 0; n < 50; n += 1) await db.ledger.planAppend({ ...by, fragment: `${n}` });
  await administrator.eventsPrune({ keep: '0' });
  const behind = await openReader();
  await db.ledger.planAppend({ ...by, fragment: 'unread' });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([1, 2, 3].map(() => administrator.eventsPrune({ keep: '0' })));
  }
  expect(await db.ledger.eventsRead({ cursor: behind.cursor() })).toMatchObject([{ reset: true }]);
  await db.admin`update planledger.event_snapshots set taken_at = taken_at + interval '1 hour' where pruned_at is not null`;
  await administrator.eventsPrune({ keep: '0' });
  await administrator.eventsPrune({ keep: '0' });
  expect(await db.ledger.eventsRead({ cursor: behind.cursor() })).toMatchObject([{ reset: true }]);
  await one.begin('repeatable read');
  await one.sql`set role none`;
  await expect(one.sql`select planledger.events_prune()`).rejects.toMatchObject({ code: 'TP409' });
  await one.rollback();
});

test('rows of a dump, with transaction ids of the future, are not read again and again', async () => {
  const cast = await makePlan(db, 'a');
  const reader = await openReader();
  await db.admin`
    update planledger.events set xid = (xid::text::bigint + 1000000)::text::xid8 where task_id = ${cast.task}`;
  for (let round = 0; round < 3; round += 1) expect(await reader.read()).toEqual([]);
});

test('a cursor cannot be taken in a transaction that writes', async () => {
  const cast = await makePlan(db, 'a');
  await one.begin();
  await one.ledger.planAppend({ principal: cast.user, task_id: cast.task, fragment: 'b' });
  await expect(one.sql`select * from planledger.events_read()`).rejects.toMatchObject({ code: '25000' });
  await one.rollback();
});
