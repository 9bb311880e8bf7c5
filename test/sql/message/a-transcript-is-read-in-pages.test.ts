import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, type Setting, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
const worker = useWorker(db);

/** Writes texts as an agent says them, and answers their ids. */
async function say({ task }: Setting, texts: string[]): Promise<string[]> {
  const { agent_token: token } = await worker.ledger.agentStart({ task_id: task, session_id: 's', holder: 'one' });
  const ids = texts.map(() => randomUUID());
  for (const [n, content] of texts.entries()) {
    await worker.ledger.agentSay({ task_id: task, token, kind: 'message', content, message_id: ids[n] ?? null });
  }
  return ids;
}

const numbers = Array.from({ length: 10 }, (_, n) => `${n}`);
let talk: Setting;
let ids: string[];
beforeAll(async () => {
  talk = await makeSession(db, 'acp');
  ids = await say(talk, numbers);
});

const page = async (change: object = {}) =>
  (await db.ledger.messageList({ ...talk.on, ...change })).map(({ content }) => content);

test('the last messages come without a place, in the order in which they were said', async () => {
  expect(await page()).toEqual(numbers);
  expect(await page({ limit: 1000 })).toEqual(numbers);
  expect(await page({ limit: 3 })).toEqual(['7', '8', '9']);
  expect(await page({ limit: 1 })).toEqual(['9']);
});

test('a page before a message ends just before it, and pages backwards meet every message once', async () => {
  expect(await page({ before_message_id: ids[7], limit: 3 })).toEqual(['4', '5', '6']);
  expect(await page({ before_message_id: ids[0] })).toEqual([]);
  const seen: string[] = [];
  for (let before: string | undefined; ; ) {
    const rows = await db.ledger.messageList({ ...talk.on, before_message_id: before, limit: 3 });
    if (rows.length === 0) break;
    seen.unshift(...rows.map(({ content }) => content));
    before = rows[0]?.id;
  }
  expect(seen).toEqual(numbers);
});

test('a page after a message begins just after it, and pages forwards meet every message once', async () => {
  expect(await page({ after_message_id: ids[2], limit: 3 })).toEqual(['3', '4', '5']);
  expect(await page({ after_message_id: ids[9] })).toEqual([]);
  const seen: string[] = ['0'];
  for (let after = ids[0]; ; ) {
    const rows = await db.ledger.messageList({ ...talk.on, after_message_id: after, limit: 4 });
    if (rows.length === 0) break;
    seen.push(...rows.map(({ content }) => content));
    after = rows.at(-1)?.id;
  }
  expect(seen).toEqual(numbers);
});

test('between two messages is what stands between them', async () => {
  expect(await page({ after_message_id: ids[1], before_message_id: ids[6] })).toEqual(['2', '3', '4', '5']);
  expect(await page({ after_message_id: ids[1], before_message_id: ids[6], limit: 2 })).toEqual(['2', '3']);
  expect(await page({ after_message_id: ids[6], before_message_id: ids[1] })).toEqual([]);
});

test('a page ends where its texts have come to 4 MiB, in both directions, and has one message at least', async () => {
  const large = await makeSession(db, 'acp');
  const mib = (letter: string) => letter.repeat(1_048_576);
  const spoken = await say(large, ['a', 'b', 'c', 'd', 'e', 'f'].map(mib));
  const letters = async (change: object = {}) =>
    (await db.ledger.messageList({ ...large.on, ...change })).map(({ content }) => content[0]).join('');
  expect(await letters()).toBe('cdef');
  expect(await letters({ before_message_id: spoken[2] })).toBe('ab');
  expect(await letters({ before_message_id: spoken[5] })).toBe('bcde');
  expect(await letters({ after_message_id: spoken[0] })).toBe('bcde');
  expect(await letters({ after_message_id: spoken[4] })).toBe('f');
  expect(await letters({ limit: 2 })).toBe('ef');
});

test.each([
  ['limit', { limit: null }],
  ['limit', { limit: 0 }],
  ['limit', { limit: -1 }],
  ['limit', { limit: 1001 }],
  ['limit', { limit: 2_147_483_647 }],
  ['session_id', { session_id: null }],
  ['session_id', { session_id: '' }],
  ['session_id', { session_id: 'x'.repeat(201) }],
  ['task_id', { task_id: null }],
  ['task_id', { task_id: '' }],
  ['before_message_id', { before_message_id: randomUUID() }],
  ['after_message_id', { after_message_id: randomUUID() }],
])('a bad %s is named: %o', async (argument, change) => {
  expect(await failure(page(change))).toMatchObject({ code: 'validation_error', details: { argument } });
});

test('a message of another session is no place in this one', async () => {
  await db.ledger.sessionCreate({ ...talk.by, name: 'other', session_id: 'other' });
  for (const place of ['before_message_id', 'after_message_id']) {
    expect(await failure(page({ session_id: 'other', [place]: ids[0] }))).toMatchObject({
      ...{ code: 'validation_error', details: { argument: place } },
    });
  }
  expect(await page({ session_id: 'other' })).toEqual([]);
});

test('one message is read by its id, with what it carried; a task has only its own', async () => {
  const made = await makeSession(db, null, 'WAITING_FOR_INPUT');
  const file = await db.ledger.attachmentStage({
    ...{ ...made.by, name: 'a.txt', media_type: 'text/plain', content: Buffer.from('file') },
  });
  const { id } = await db.ledger.messageAdd({
    ...{ ...made.on, client_message_id: '𝒎', content: 'go\u200D', plan_mode: true, attachments: [file.id] },
  });
  const message = await db.ledger.messageGet({ ...made.by, message_id: id });
  expect(message).toEqual({
    ...{ id, task_id: made.task, session_id: 's', role: 'user', kind: 'message', content: 'go\u200D', client_id: '𝒎' },
    ...{ comments: [], plan_mode: true, author_name: 'Ann', created_at: expect.any(Date) },
    attachments: [{ id: file.id, name: 'a.txt', media_type: 'text/plain', bytes: 4 }],
  });
  expect(await db.ledger.messageList(made.on)).toEqual([message]);
  for (const message_id of [ids[0] ?? '', randomUUID(), null]) {
    expect(await db.ledger.messageGet({ ...made.by, message_id })).toBeNull();
  }
});

test('who does not reach the task reads nothing of it, and no session is told apart from none', async () => {
  const other = await makeSession(db, null);
  const { service, agent } = talk.cast;
  expect(await page({ principal: service })).toEqual(numbers);
  expect(await page({ principal: agent })).toEqual(numbers);
  await db.admin`update planledger.principals set scopes = '{plan:read,plan:write}' where id = ${agent}`;
  for (const principal of [other.cast.user, other.cast.agent, agent, randomUUID()]) {
    for (const call of [
      () => page({ principal }),
      () => page({ principal, session_id: 'absent' }),
      () => page({ principal, before_message_id: ids[3] }),
      () => db.ledger.messageGet({ task_id: talk.task, principal, message_id: ids[0] ?? '' }),
    ]) {
      expect(await failure(call())).toMatchObject({ code: 'task_unreachable' });
    }
  }
  expect(await failure(page({ session_id: 'absent' }))).toMatchObject({ code: 'session_not_found' });
});
