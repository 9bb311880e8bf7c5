import { expect, test } from 'vitest';
import type { Session } from '../../../src/ledger/generated.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { failure } from '../observe.ts';

const db = useDatabase();

/** A task of its own; the session of its agent is among those that are listed. */
async function setting() {
  const cast = await makeCast(db);
  const by = { principal: cast.user, task_id: cast.task };
  const list = () => db.ledger.sessionList(by);
  const events = async () =>
    await db.admin<{ session_id: string }[]>`
      select session_id from planledger.events where task_id = ${cast.task} and kind = 'session.changed' order by id`;
  return {
    cast,
    by,
    list,
    events,
    create: (name: string) => db.ledger.sessionCreate({ ...by, name, session_id: name }),
  };
}

const primaries = (sessions: Session[]) => sessions.filter(({ is_primary }) => is_primary).map(({ id }) => id);

test('the first session is primary, later ones are not unless they ask, and the list is by creation', async () => {
  const { by, list, events, create } = await setting();
  const first = await create('first');
  expect(first).toEqual({
    ...{ id: 'first', task_id: by.task_id, name: 'first', agent_name: 'first', state: 'CREATED', accepts: 'queue' },
    ...{ is_primary: true, transport: null, failure: null, auto_run: true, queue_max: 10 },
    ...{ turn_id: expect.any(String), queue_incarnation: expect.any(String) },
    ...{ created_at: expect.any(Date), updated_at: expect.any(Date) },
  });
  expect((await create('second')).is_primary).toBe(false);
  const third = await db.ledger.sessionCreate({
    ...by,
    ...{ name: 'Third', session_id: 'third', agent_name: 'claude', transport: 'acp', is_primary: true },
  });
  expect(third).toMatchObject({ name: 'Third', agent_name: 'claude', transport: 'acp', is_primary: true });
  const sessions = await list();
  expect(sessions.map(({ id }) => id).slice(1)).toEqual(['first', 'second', 'third']);
  expect(primaries(sessions)).toEqual(['third']);
  expect((await db.ledger.sessionCreate({ ...by, name: 'no id' })).id).toMatch(/^[0-9a-f-]{36}$/);
  const changed = (await events()).map(({ session_id }) => session_id);
  expect(changed.slice(0, 4)).toEqual(['first', 'second', 'first', 'third']);
});

test('another session becomes primary; both are said to have changed, and a repeat says nothing', async () => {
  const { by, list, events, create } = await setting();
  for (const name of ['one', 'two']) await create(name);
  const before = (await events()).length;
  expect(await db.ledger.sessionSetPrimary({ ...by, session_id: 'two' })).toMatchObject({ is_primary: true });
  expect(primaries(await list())).toEqual(['two']);
  await db.ledger.sessionSetPrimary({ ...by, session_id: 'two' });
  expect((await events()).slice(before).map(({ session_id }) => session_id)).toEqual(['one', 'two']);
});

test.each([
  ['CREATED', 'queue'],
  ['STARTING', 'queue'],
  ['RUNNING', 'queue'],
  ['WAITING_FOR_INPUT', 'direct'],
  ['COMPLETED', 'nothing'],
  ['FAILED', 'nothing'],
  ['CANCELLED', 'nothing'],
])('a session in state %s accepts %s; one that has ended stays so and is not primary', async (state, accepts) => {
  const { by, create } = await setting();
  await create('s');
  const at = { ...by, session_id: 's' };
  const failed = state === 'FAILED' ? { failure: 'The agent was not found.' } : {};
  expect(await db.ledger.sessionSetState({ ...at, state, ...failed })).toMatchObject({
    ...{ state, accepts, is_primary: accepts !== 'nothing', failure: failed.failure ?? null },
  });
  const again = db.ledger.sessionSetState({ ...at, state: 'RUNNING' });
  if (accepts !== 'nothing') {
    expect(await again).toMatchObject({ state: 'RUNNING' });
    return;
  }
  expect(await failure(again)).toMatchObject({ code: 'session_terminal', details: { session_id: 's' } });
  expect(await failure(db.ledger.sessionSetPrimary(at))).toMatchObject({ code: 'session_terminal' });
  expect(await db.ledger.sessionSetState({ ...at, state, ...failed })).toMatchObject({ state });
  expect(await db.ledger.sessionClose(at)).toMatchObject({ state });
});

test('a session is closed once', async () => {
  const { by, events, create } = await setting();
  await create('s');
  const closed = await db.ledger.sessionClose({ ...by, session_id: 's' });
  expect(closed).toMatchObject({ state: 'COMPLETED', accepts: 'nothing', is_primary: false });
  expect(await db.ledger.sessionClose({ ...by, session_id: 's' })).toEqual(closed);
  expect(await events()).toHaveLength(2);
});

test('a session of another task is not found, and bad input is named', async () => {
  const { by, create } = await setting();
  const other = await setting();
  await other.create('theirs');
  for (const call of [
    () => db.ledger.sessionSetPrimary({ ...by, session_id: 'theirs' }),
    () => db.ledger.sessionSetState({ ...by, session_id: 'theirs', state: 'RUNNING' }),
    () => db.ledger.sessionClose({ ...by, session_id: 'theirs' }),
  ]) {
    expect(await failure(call())).toMatchObject({ code: 'session_not_found', details: { session_id: 'theirs' } });
  }
  expect(
    await failure(db.ledger.sessionList({ ...by, task_id: other.by.task_id, principal: by.principal })),
  ).toMatchObject({ code: 'task_unreachable' });
  await create('s');
  for (const [call, argument] of [
    [() => db.ledger.sessionCreate({ ...by, name: 's', session_id: 's' }), 'session_id'],
    [() => db.ledger.sessionCreate({ ...by, name: '' }), 'name'],
    [() => db.ledger.sessionCreate({ ...by, name: 'x', transport: 'telepathy' }), 'transport'],
    [() => db.ledger.sessionSetState({ ...by, session_id: 's', state: 'ASLEEP' }), 'state'],
    [() => db.ledger.sessionSetState({ ...by, session_id: 's', state: null }), 'state'],
    [() => db.ledger.sessionSetState({ ...by, session_id: 's', state: 'FAILED', failure: '' }), 'failure'],
  ] as const) {
    expect(await failure(call())).toMatchObject({ code: 'validation_error', details: { argument } });
  }
});

test('an agent without task:write makes and changes no session', async () => {
  const { cast, by } = await setting();
  await db.admin`update planledger.principals set scopes = '{plan:read,plan:write,task:read}' where id = ${cast.agent}`;
  const call = db.ledger.sessionCreate({ ...by, principal: cast.agent, name: 'mine' });
  expect(await failure(call)).toMatchObject({ code: 'task_unreachable' });
  expect(await db.ledger.sessionList({ ...by, principal: cast.agent })).toHaveLength(1);
});
