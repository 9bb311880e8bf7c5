import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';
import { closeSessions, openSession, until } from '../sessions.ts';

const db = useDatabase();
const worker = useWorker(db);

async function setting() {
  const made = await makeSession(db, 'acp');
  const { agent_token: token } = await worker.ledger.agentStart({ task_id: made.task, session_id: 's', holder: 'one' });
  const said = { task_id: made.task, token, kind: 'message', content: 'hello', message_id: randomUUID() };
  return { ...made, said, say: (change: object = {}) => worker.ledger.agentSay({ ...said, ...change }) };
}

test.each(['message', 'thought', 'tool', 'terminal'])(
  'a %s is a row of the transcript, and one event',
  async (kind) => {
    const { say, said, transcript, by } = await setting();
    await say({ kind });
    expect(await transcript()).toEqual([{ role: 'agent', kind, content: 'hello', author_name: 'claude' }]);
    const events = await db.admin`
    select session_id, message_id from planledger.events where task_id = ${by.task_id} and kind = 'message.added'`;
    expect([...events]).toEqual([{ session_id: 's', message_id: said.message_id }]);
  },
);

test('saying it again with the same id changes nothing, whatever it says', async () => {
  const { say, task } = await setting();
  await say();
  const before = await storedDelivery(db, task);
  await say();
  await say({ content: 'other', kind: 'tool' });
  expect(await storedDelivery(db, task)).toEqual(before);
  await Promise.all(Array.from({ length: 8 }, () => say()));
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('what was said stands in the order in which it was said', async () => {
  const { say, transcript } = await setting();
  const all = Array.from({ length: 20 }, (_, n) => `${n}`);
  for (const content of all) await say({ content, message_id: randomUUID() });
  expect((await transcript()).map(({ content }) => content)).toEqual(all);
});

test.each([
  ['\u{1F469}\u200D\u{1F4BB} \u202Eright to left\u202C \uFEFF e\u0301 \r\n\t\u001B[0m'],
  ['\uFFFD\uFFFE\u{10FFFF}'],
  ['x'.repeat(1_048_576)],
  ['€'.repeat(349_525)],
])('odd and large text is kept exactly', async (content) => {
  const { say, on } = await setting();
  await say({ content });
  const [message] = await db.ledger.messageList(on);
  expect(message?.content === content).toBe(true);
});

test.each([
  ['kind', { kind: 'notice' }],
  ['kind', { kind: 'Message' }],
  ['kind', { kind: null }],
  ['content', { content: '' }],
  ['content', { content: null }],
  ['content', { content: 'x'.repeat(1_048_577) }],
  ['content', { content: '€'.repeat(349_526) }],
  ['message_id', { message_id: null }],
])('a bad %s says nothing', async (argument, change) => {
  const { say, task } = await setting();
  const before = await storedDelivery(db, task);
  expect(await failure(say(change))).toMatchObject({ code: 'validation_error', details: { argument } });
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('an agent that speaks and a task that is deleted do not end in a deadlock', async () => {
  const { say, by, task } = await setting();
  await db.admin.unsafe(`
    create schema if not exists held;
    create or replace function held.wait() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(4711); return new; end $$;
    grant usage on schema held to public;
    create trigger held before insert on planledger.session_messages for each row execute function held.wait()`);
  const [holder, deleter] = [await openSession(db, 'holder'), await openSession(db, 'deleter')];
  const waiting = (name: string) =>
    until(`${name} waiting`, async () => {
      const [row] = await db.admin`
        select from pg_stat_activity
        where application_name = ${name} and wait_event_type = 'Lock' and datname = current_database()`;
      return row;
    });
  try {
    await holder.begin();
    await holder.sql`select pg_advisory_xact_lock(4711)`;
    const saying = say();
    await waiting('test worker');
    const deleting = deleter.ledger.taskDelete(by);
    await waiting('deleter');
    await holder.commit();
    await saying;
    await deleting;
    expect(await db.admin`select from planledger.session_messages where task_id = ${task}`).toHaveLength(0);
  } finally {
    await closeSessions(holder, deleter);
    await db.admin.unsafe('drop trigger held on planledger.session_messages; drop schema held cascade');
  }
});
