import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession } from '../sessions.ts';

const db = useDatabase();

test('every reading function works in a read-only transaction', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const session = await openSession(db, 'read only');
  await session.sql`begin read only`;
  expect(await session.ledger.planGet(by)).toMatchObject({ content: 'a' });
  expect(await session.ledger.revisionList(by)).toHaveLength(1);
  expect(await session.ledger.revisionGet({ ...by, revision_id: cast.created.revision_id })).toMatchObject({
    content: 'a',
  });
  expect(await session.ledger.taskGet(by)).toMatchObject({ id: cast.task });
  expect(await session.ledger.taskList(by)).toHaveLength(1);
  await session.rollback();
  await closeSessions(session);
});

test('the app role can touch no table, view or helper', async () => {
  const relations = await db.admin<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'planledger' and c.relkind in ('r', 'v', 'S')`;
  expect(relations.length).toBeGreaterThan(10);
  for (const { name } of relations) {
    await expect(db.app.unsafe(`select * from ${name}`)).rejects.toMatchObject({ code: '42501' });
    await expect(db.app.unsafe(`delete from ${name}`)).rejects.toMatchObject({ code: /42501|42809/ });
  }
  await expect(db.app`select planledger.lock_key('plan', 'x')`).rejects.toMatchObject({ code: '42501' });
  await expect(db.app`select planledger.settings_change()`).rejects.toMatchObject({ code: '42501' });
  await expect(db.app`select planledger.token_create(gen_random_uuid(), 'x')`).rejects.toMatchObject({ code: '42501' });
});

test('objects of the caller with the names the functions use are not picked up', async () => {
  const cast = await makePlan(db, 'a');
  const session = await openSession(db, 'hostile');
  await session.sql.unsafe(`
    create temp table plans (task_id text, id uuid, revision_number int);
    create temp table plan_revisions (task_id text);
    create temp table settings (coalesce_window interval);
    create temp view admissions as select 1 as principal_id;
    create function pg_temp.clock_timestamp() returns timestamptz language sql as $$ select null::timestamptz $$;
    create function pg_temp.octet_length(text) returns int language sql as $$ select 0 $$;
    create function pg_temp.white_space() returns text language sql as $$ select 'a'::text $$;
    set search_path = pg_temp, planledger, public`);
  const by = { principal: cast.agent, task_id: cast.task };
  const ack = await session.ledger.planAppend({ ...by, fragment: 'b\u3000' });
  expect(ack).toMatchObject({ outcome: 'appended', content_bytes: 7, coalesced: true });
  expect(await session.ledger.planGet(by)).toMatchObject({ content: 'a\n\nb\u3000' });
  await closeSessions(session);
});

test.each([null, 'r'])(
  'an append in a read-only transaction is refused in the usual order, request id %s',
  async (id) => {
    const [cast, stranger] = [await makePlan(db, 'a'), await makePlan(db, 'b')];
    const refusal = async (mode: string, principal: string, fragment: string) => {
      const session = await openSession(db, 'read only');
      await session.sql.unsafe(`begin isolation level ${mode} read only`);
      const call = session.sql`
      select * from planledger.plan_append(${principal}, ${cast.task}, ${fragment}, p_request_id => ${id})`;
      const code = await call.then(
        () => 'was not refused',
        (error: { code: string }) => error.code,
      );
      await closeSessions(session);
      return code;
    };
    expect(await refusal('repeatable read', cast.agent, 'b')).toBe('TP409');
    expect(await refusal('read committed', stranger.agent, 'b')).toBe('TP403');
    expect(await refusal('read committed', cast.agent, ' ')).toBe('TP400');
    expect(await refusal('read committed', cast.agent, 'b')).toBe('25006');
  },
);
