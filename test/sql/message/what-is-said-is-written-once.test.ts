import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, storedDelivery } from '../deliveries.ts';

const db = useDatabase();

/** Calls `transcript_add`, which only functions call. */
const add = (task: string, role: string, kind: string, content: string, id = randomUUID(), session = 's') =>
  db.admin`select planledger.transcript_add(${task}, ${session}, ${role}, ${kind}, ${content}, ${id})`;

test('an agent speaks under its name, and what became of a prompt is said by Planledger', async () => {
  const { task, transcript } = await makeSession(db, 'acp');
  await add(task, 'agent', 'thought', 'hm');
  await add(task, 'system', 'notice', 'The prompt was not delivered.');
  expect(await transcript()).toEqual([
    { role: 'agent', kind: 'thought', content: 'hm', author_name: 'claude' },
    { role: 'system', kind: 'notice', content: 'The prompt was not delivered.', author_name: 'Planledger' },
  ]);
});

test('one id is one row and one event, in one call after another and in many at once', async () => {
  const { task } = await makeSession(db, 'acp');
  const id = randomUUID();
  await Promise.all(Array.from({ length: 6 }, () => add(task, 'agent', 'message', 'x', id)));
  const before = await storedDelivery(db, task);
  await add(task, 'agent', 'message', 'x', id);
  await add(task, 'system', 'notice', 'other', id);
  expect(await storedDelivery(db, task)).toEqual(before);
  const events = await db.admin`select from planledger.events where task_id = ${task} and message_id = ${id}`;
  expect(events).toHaveLength(1);
});

test('one id in two tasks is two rows', async () => {
  const [one, two] = [await makeSession(db, 'acp'), await makeSession(db, 'acp')];
  const id = randomUUID();
  for (const { task } of [one, two]) await add(task, 'agent', 'message', task, id);
  expect(await one.transcript()).toMatchObject([{ content: one.task }]);
  expect(await two.transcript()).toMatchObject([{ content: two.task }]);
});

test('a session that is not there gets no row and no event', async () => {
  const { task } = await makeSession(db, 'acp');
  const before = await storedDelivery(db, task);
  await add(task, 'agent', 'message', 'x', randomUUID(), 'absent');
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('what is undone was never said', async () => {
  const { task, transcript } = await makeSession(db, 'acp');
  const id = randomUUID();
  const undone = db.admin.begin(async (sql) => {
    await sql`select planledger.transcript_add(${task}, 's', 'agent', 'message', 'undone', ${id})`;
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  await add(task, 'agent', 'message', 'said', id);
  expect(await transcript()).toMatchObject([{ content: 'said' }]);
});

test.each([
  ['robot', 'message', 'message_role_known'],
  ['agent', 'shout', 'message_kind_known'],
])('role %s with kind %s is refused by its constraint', async (role, kind, constraint) => {
  const { task } = await makeSession(db, 'acp');
  await expect(add(task, role, kind, 'x')).rejects.toMatchObject({ code: '23514', constraint_name: constraint });
});
