import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { checkRefusal, expectRefusal, failure, stored } from '../observe.ts';
import { makePlan, read } from '../plans.ts';
import { closeSessions, openSession, type Session, until, waitsFor } from '../sessions.ts';

const db = useDatabase();
let holder: Session;
let waiter: Session;

beforeAll(async () => {
  holder = await openSession(db, 'holder');
  waiter = await openSession(db, 'waiter');
});
afterAll(() => closeSessions(holder, waiter));

const wait = (lock_wait: string) => createLedger(db.admin).settingsChange({ lock_wait });

/** Runs `while_held` while another transaction has appended to the task and not yet committed. */
async function held(cast: { agent: string; task: string }, whileHeld: () => Promise<void>): Promise<void> {
  await holder.begin();
  try {
    await holder.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'held' });
    await whileHeld();
  } finally {
    await holder.commit();
  }
}

test('other tasks are written meanwhile, also others of the same tree', async () => {
  const [cast, other] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
  const below = `${cast.task}-below`;
  await db.ledger.taskCreate({ principal: cast.user, task_id: below, title: 'Below', parent_task_id: cast.task });
  await held(cast, async () => {
    const ack = await waiter.ledger.planAppend({ principal: other.agent, task_id: other.task, fragment: 'c' });
    expect(ack).toMatchObject({ outcome: 'appended' });
    await waiter.ledger.planCreate({ principal: cast.agent, task_id: below, content: 'd' });
  });
});

test('readers do not wait, and see what is committed', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  await held(cast, async () => {
    expect(await waiter.ledger.planGet(by)).toMatchObject({ content: 'a', version: cast.created.version });
    expect(await waiter.ledger.revisionList(by)).toMatchObject([{ revision_number: 1, content_bytes: 1 }]);
    const revision = await waiter.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id });
    expect(revision.content).toBe('a');
  });
});

test('what is refused before the lock is refused at once: an oversized replace never queues', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const expected_version = cast.created.version;
  await held(cast, async () => {
    await waiter.sql`set statement_timeout = '3s'`;
    for (const [operation, write] of [
      ['create', waiter.ledger.planCreate],
      ['replace', waiter.ledger.planReplace],
    ] as const) {
      const call = () => write({ ...by, content: 'x'.repeat(262_145), expected_version });
      await expectRefusal(db, cast.task, call, {
        code: 'plan_content_too_large',
        operation,
        details: { content_bytes: 262_145, limit_bytes: 262_144 },
      });
    }
    await expectRefusal(db, cast.task, () => waiter.ledger.planAppend({ ...by, fragment: ' ' }), {
      code: 'validation_error',
      operation: 'append',
    });
    await waiter.sql`reset statement_timeout`;
  });
});

test('an oversized fragment queues, because only the composed size counts', async () => {
  const cast = await makePlan(db, 'a');
  let waiting: Promise<unknown> = Promise.resolve();
  await held(cast, async () => {
    waiting = failure(
      waiter.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'x'.repeat(262_145) }),
    );
    await waitsFor(db, waiter, holder, cast.task);
  });
  checkRefusal((await waiting) as Awaited<ReturnType<typeof failure>>, cast.task, {
    code: 'plan_content_too_large',
    operation: 'append',
    details: { content_bytes: 'a\n\nheld\n\n'.length + 262_145 },
  });
});

test('a wait that takes too long ends in plan_busy for every write, and the same call succeeds later', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  await wait('50 milliseconds');
  await held(cast, async () => {
    for (const [operation, write] of [
      ['append', () => waiter.ledger.planAppend({ ...by, fragment: 'b' })],
      ['create', () => waiter.ledger.planCreate({ ...by, content: 'b' })],
      ['delete', () => waiter.ledger.planDelete(by)],
      ['revert', () => waiter.ledger.planRevert({ ...by, principal: cast.user, revision_id: 'any' })],
      ['archive_task', () => waiter.ledger.taskArchive({ ...by, principal: cast.user })],
      ['delete_task', () => waiter.ledger.taskDelete({ ...by, principal: cast.user })],
    ] as const) {
      const error = await expectRefusal(db, cast.task, write, { code: 'plan_busy', operation });
      expect(error.retrySafe).toBe(true);
    }
  });
  await wait('15 seconds');
  await waiter.ledger.planAppend({ ...by, fragment: 'b' });
  expect((await read(db, cast)).content).toBe('a\n\nheld\n\nb');
});

test("the wait's bound does not leak into the caller's transaction", async () => {
  const cast = await makePlan(db, 'a');
  await wait('7 seconds');
  await waiter.begin();
  const shown = async () => (await waiter.sql`show lock_timeout`)[0];
  const before = await shown();
  await waiter.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
  expect(await shown()).toEqual(before);
  await waiter.rollback();
  await wait('15 seconds');
});

test('a cancelled caller leaves nothing behind and blocks nobody', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  await holder.begin();
  await holder.ledger.planAppend({ ...by, fragment: 'held' });
  const before = await stored(db, cast.task);
  const waiting = failure(waiter.ledger.planAppend({ ...by, fragment: 'cancelled', request_id: 'r' }));
  await waitsFor(db, waiter, holder, cast.task);
  await db.admin`select pg_cancel_backend(${waiter.pid})`;
  expect(await waiting).toMatchObject({ cause: { code: '57014' }, writeApplied: false });
  expect(await stored(db, cast.task)).toEqual(before);
  await holder.commit();
  const locks = await db.admin`select from planledger.locks where task_id = ${cast.task}`;
  expect(locks).toHaveLength(0);
  expect(await waiter.ledger.planAppend({ ...by, fragment: 'again', request_id: 'r' })).toMatchObject({
    replayed: false,
  });
  expect((await read(db, cast)).content).toBe('a\n\nheld\n\nagain');
});

test('a terminated holder takes its write with it and lets the next one through', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const doomed = await openSession(db, 'doomed');
  await doomed.begin();
  await doomed.ledger.planAppend({ ...by, fragment: 'lost' });
  const waiting = waiter.ledger.planAppend({ ...by, fragment: 'kept' });
  await waitsFor(db, waiter, doomed, cast.task);
  await db.admin`select pg_terminate_backend(${doomed.pid})`;
  await waiting;
  expect((await read(db, cast)).content).toBe('a\n\nkept');
  await closeSessions(doomed);
});

test('writers of one task queue without deadlock while people delete, mark and archive', async () => {
  const cast = await makePlan(db, 'start');
  const by = { principal: cast.agent, task_id: cast.task };
  const browser = { principal: cast.user, task_id: cast.task, policy: 'browser' };
  const calls = Array.from({ length: 60 }, (_, n) =>
    [
      () => db.ledger.planAppend({ ...by, fragment: `f${n}` }),
      () => db.ledger.planCreate({ ...browser, content: `c${n}` }),
      () => db.ledger.planDelete(by),
      () => db.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session }),
      () => db.ledger.planRevert({ ...browser, revision_id: cast.created.revision_id }),
      () => db.ledger.taskArchive(browser),
    ].map((call) => call()),
  ).flat();
  const codes = (await Promise.allSettled(calls)).map((answer) => answer.status === 'rejected' && answer.reason.code);
  expect(new Set(codes.filter((code) => code !== 'plan_not_found'))).toEqual(new Set([false]));
  const [row] = await db.admin`
    select count(*)::int as revisions, max(revision_number) as highest from planledger.plan_revisions where task_id = ${cast.task}`;
  expect(row?.revisions).toBe(row?.highest);
  await until('no lock left', async () => {
    const locks = await db.admin`select from planledger.locks where task_id = ${cast.task}`;
    return locks.length === 0 || undefined;
  });
});

test.each(['0', '0.9 milliseconds', '10 minutes 1 second', '1 year -360 days 5 minutes', '-1 year 361 days'])(
  'a wait of %s is refused',
  async (lock_wait) => {
    const [before] = await db.admin`select lock_wait::text from planledger.settings`;
    await expect(wait(lock_wait)).rejects.toMatchObject({
      code: 'validation_error',
      details: { argument: 'lock_wait' },
    });
    expect(await db.admin`select lock_wait::text from planledger.settings`).toEqual([before]);
  },
);

test('a wait is kept as the time it is', async () => {
  expect((await wait('-1 year 365 days 6 hours 5 minutes')).lock_wait).toBe('00:05:00');
  expect((await wait('1 millisecond')).lock_wait).toBe('00:00:00.001');
  expect((await wait('15 seconds')).lock_wait).toBe('00:00:15');
});

test('a marker that is set is read again while a plan write is not committed', async () => {
  const cast = await makePlan(db, 'a');
  const mark = { principal: cast.user, task_id: cast.task, session_id: cast.session };
  const first = await waiter.ledger.planMarkImplementationStarted(mark);
  await held(cast, async () => {
    expect(await waiter.ledger.planMarkImplementationStarted(mark)).toEqual(first);
  });
});

test('the one row of settings cannot be deleted or truncated', async () => {
  await expect(db.admin`delete from planledger.settings`).rejects.toMatchObject({ code: '23000' });
  await expect(db.admin`truncate planledger.settings`).rejects.toMatchObject({ code: '23000' });
});
