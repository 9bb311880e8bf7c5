import { describe, expect, test } from 'vitest';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { useDatabase } from '../../support/fixture.ts';
import { checkRefusal, failure, stored } from '../observe.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();
type Write = (values: Record<string, unknown>) => Promise<unknown>;
const writes = [
  'planCreate',
  'planReplace',
  'planAppend',
  'planEdit',
  'planRestore',
  'planRevert',
  'planDelete',
  'planMarkImplementationStarted',
  'taskCreate',
  'taskArchive',
  'taskDelete',
] as const satisfies (keyof Ledger)[];

describe.each(['repeatable read', 'serializable'])('%s', (isolation) => {
  test.each(writes)('%s is refused before anything is read or waited for', async (method) => {
    const [cast, stranger] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
    const session = await openSession(db, 'old snapshot');
    const holder = await db.admin.reserve();
    await holder`begin`;
    await holder`select pg_advisory_xact_lock(planledger.lock_key('plan', ${cast.task}))`;
    const before = await stored(db, cast.task);
    const all: Record<string, unknown> = {
      task_id: cast.task,
      title: 'Title',
      content: 'x',
      fragment: 'x',
      old_text: 'a',
      new_text: 'x',
      expected_version: cast.created.version,
      expected_revision_version: 'x',
      revision_id: cast.created.revision_id,
      session_id: cast.session,
    };
    const taken: readonly string[] = signatures[method].arguments;
    const values = Object.fromEntries(Object.entries(all).filter(([name]) => taken.includes(name)));
    for (const principal of [cast.user, stranger.user]) {
      await session.begin(isolation);
      await session.sql`set local statement_timeout = '3s'`;
      const error = await failure((session.ledger[method] as unknown as Write)({ ...values, principal }));
      checkRefusal(error, cast.task, {
        code: 'isolation_not_supported',
        operation: signatures[method].operation,
        details: { isolation: isolation.toUpperCase() },
      });
      await session.rollback();
    }
    await holder`rollback`;
    holder.release();
    await closeSessions(session);
    expect(await stored(db, cast.task)).toEqual(before);
  });

  test('readers answer from the snapshot of the transaction', async () => {
    const cast = await makePlan(db, 'a');
    const by = { principal: cast.agent, task_id: cast.task };
    const session = await openSession(db, 'reader');
    await session.begin(isolation);
    const first = await session.ledger.planGet(by);
    await db.ledger.planAppend({ ...by, fragment: 'b' });
    expect(await session.ledger.planGet(by)).toEqual(first);
    expect(await session.ledger.revisionList(by)).toMatchObject([{ content_bytes: 1 }]);
    await session.commit();
    expect(await session.ledger.planGet(by)).toMatchObject({ content: 'a\n\nb' });
    await closeSessions(session);
  });
});

test('several writes in one read committed transaction work, each on what the one before left', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const session = await openSession(db, 'several');
  await session.begin();
  const { version } = await session.ledger.planAppend({ ...by, fragment: 'b' });
  await session.ledger.planEdit({ ...by, expected_version: version, old_text: 'b', new_text: 'c' });
  await session.commit();
  await closeSessions(session);
  expect(await db.ledger.planGet(by)).toMatchObject({ content: 'a\n\nc' });
});
