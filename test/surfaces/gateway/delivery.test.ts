import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { startHttp, tokenFor } from '../mcp/clients.ts';
import { openSocket, type Socket } from './socket.ts';

const db = useDatabase();
let cast: Cast;
let user: Socket;
let watcher: Socket;
/** The task and a session that waits for a prompt. */
let on: { task_id: string; session_id: string };
let plan_id: string;
let comment: { id: string; version: number };

beforeEach(async () => {
  cast = await makeCast(db);
  const { url } = await startHttp(db);
  user = await openSocket(url, (await tokenFor(db, cast.user)).token);
  watcher = await openSocket(url, (await tokenFor(db, cast.agent)).token);
  const task = { task_id: cast.task };
  plan_id = (await call('task.plan.create', { ...task, content: 'a plan' })).id;
  comment = await makeComment('Why?');
  on = { ...task, session_id: (await call('task.session.create', { ...task, name: 'main', is_primary: true })).id };
  await call('session.set_state', { ...on, state: 'WAITING_FOR_INPUT' });
  await call('task.subscribe', task, watcher);
});

/** The payload of an answer that must be no error. */
async function call(action: string, payload: object = {}, socket = user) {
  const answer = await socket.request(action, payload);
  expect(answer, JSON.stringify(answer)).toMatchObject({ type: 'response', action });
  return answer.payload;
}

/** The payload of a refusal. */
async function refused(action: string, payload: object = {}) {
  const answer = await user.request(action, payload);
  expect(answer).toMatchObject({ type: 'error', action });
  return answer.payload;
}

async function makeComment(body: string) {
  const id = randomUUID();
  const text = { selected_text: 'a plan', anchor_from: 0, anchor_to: 6 };
  await call('task.plan.comments.create', { task_id: cast.task, plan_id, id, body, ...text });
  return { id, version: 1 };
}

/** Takes a prompt as a worker does. */
async function deliver(receipt_id: string) {
  const worker = createLedger(db.admin);
  const { task_id } = on;
  const { lease_token: token } = await worker.receiptReserve({ task_id, receipt_id, holder: 'test' });
  await worker.receiptMarkAttempted({ task_id, token });
  await worker.receiptAcknowledge({ task_id, token });
}

/** Waits for a notification of an action with these fields. */
async function told(action: string, is: object) {
  const payloads = () => watcher.frames.filter((frame) => frame.action === action).map(({ payload }) => payload);
  await expect.poll(payloads, { timeout: 5_000 }).toContainEqual(expect.objectContaining(is));
}

test('sessions are made, listed, changed and closed', async () => {
  const { task_id } = on;
  const made = await call('task.session.create', { task_id, name: 'two', agent_name: 'bot', session_id: 'mine' });
  expect(made).toMatchObject({ id: 'mine', name: 'two', agent_name: 'bot', state: 'CREATED', accepts: 'queue' });
  expect(made).toMatchObject({ task_id, is_primary: false, transport: null, created_at: expect.any(String) });
  const two = { task_id, session_id: 'mine' };
  expect(await call('session.set_primary', two)).toMatchObject({ id: 'mine', is_primary: true });
  expect(await call('session.set_state', { ...two, state: 'FAILED', failure: 'It broke.' })).toMatchObject({
    ...{ state: 'FAILED', failure: 'It broke.', accepts: 'nothing' },
  });
  expect(await call('session.close', on)).toMatchObject({ id: on.session_id, state: 'COMPLETED' });
  const { sessions } = await call('task.session.list', { task_id });
  expect(sessions.map(({ id }: { id: string }) => id)).toEqual(expect.arrayContaining([on.session_id, 'mine']));
  expect((await refused('session.set_state', { ...two, state: 'RUNNING' })).code).toBe('session_terminal');
  expect((await refused('session.set_state', { ...on, state: 'ASLEEP' })).code).toBe('validation_error');
  await told('task.session.changed', { id: 'mine', state: 'FAILED' });
  await told('task.session.changed', { id: on.session_id, state: 'COMPLETED' });
});

test('a message carries its comments away, and a repeat is answered, also through the queue', async () => {
  const message = { ...on, content: 'go', client_message_id: 'm1', plan_comment_refs: [comment] };
  const delivery = await call('message.add', message);
  const content = '### Plan Comments\n\n```\na plan\n```\n> Why?\n\n---\n\ngo';
  expect(delivery).toMatchObject({ ...on, client_id: 'm1', content, comments: [comment], replayed: false });
  expect((await call('task.plan.comments.list', { task_id: cast.task })).comments).toEqual([]);
  expect(await call('message.add', message)).toEqual({ ...delivery, replayed: true });
  const { client_message_id, ...same } = message;
  expect(await call('message.queue.add', { ...same, client_queue_id: 'm1' })).toEqual({ ...delivery, replayed: true });
  expect((await call('message.queue.get', on)).count).toBe(0);
  expect((await refused('message.add', { ...message, content: 'stop' })).code).toBe('idempotency_conflict');
  expect((await refused('message.add', { ...message, client_message_id: 'm2', plan_comment_refs: [] })).code).toBe(
    'session_not_promptable',
  );

  const { messages } = await call('message.list', on);
  expect(messages).toMatchObject([{ ...on, content, client_id: 'm1', comments: [comment], author_name: 'Ann' }]);
  const { task_id } = on;
  expect(await call('message.get', { task_id, message_id: messages[0].id })).toEqual(messages[0]);
  expect(await call('message.get', { task_id, message_id: randomUUID() })).toBeNull();
  expect(await call('message.get', { task_id, client_message_id: 'm1' })).toMatchObject({ id: delivery.id });
  expect(await call('message.get', { task_id, client_queue_id: 'm1' })).toMatchObject({ id: delivery.id });
  expect(await call('message.get', { task_id, client_message_id: 'none' })).toBeNull();
  await told('session.message.added', { id: messages[0].id, content });
  await told('task.session.changed', { id: on.session_id, accepts: 'queue' });
  await told('task.plan.comments.changed', { comments: [] });
});

test('a stale comment is refused with the present ones, by message and queue, and nothing is consumed', async () => {
  const kept = await makeComment('And this?');
  const plan_comment_refs = [kept, { ...comment, version: 2 }];
  const snapshot = await call('task.plan.comments.list', { task_id: cast.task });
  expect(snapshot.comments).toHaveLength(2);
  for (const [action, id] of [
    ['message.add', 'client_message_id'],
    ['message.queue.add', 'client_queue_id'],
  ] as const) {
    expect(await refused(action, { ...on, content: 'go', [id]: 'stale', plan_comment_refs })).toMatchObject({
      code: 'plan_comments_changed',
      details: { snapshot, write_applied: false },
    });
  }
  expect(await call('task.plan.comments.list', { task_id: cast.task })).toEqual(snapshot);
  expect(await call('message.get', { task_id: cast.task, client_message_id: 'stale' })).toBeNull();
  expect((await call('message.list', on)).messages).toEqual([]);
});

test('a session of another task is not found, by every action; one out of reach says no more', async () => {
  const { id: elsewhere } = await call('task.create', { title: 'Other' });
  const entry_id = randomUUID();
  const payloads: Record<string, object> = {
    'session.set_primary': {},
    'session.set_state': { state: 'RUNNING' },
    'session.close': {},
    'message.add': { content: 'x', client_message_id: 'x' },
    'message.list': {},
    'message.queue.add': { content: 'x', client_queue_id: 'x' },
    'message.queue.append': { content: 'x', client_queue_id: 'x' },
    'message.queue.get': {},
    'message.queue.update': { entry_id, content: 'x' },
    'message.queue.remove': { entry_id },
    'message.queue.cancel': {},
    'message.queue.reorder': { entry_ids: [] },
    'message.queue.drain': {},
    'message.queue.auto_run.set': { auto_run: false },
    'message.queue.send_now': { entry_ids: [entry_id] },
  };
  const other = await makeCast(db);
  for (const [action, payload] of Object.entries(payloads)) {
    const refusal = await refused(action, { ...on, task_id: elsewhere, ...payload });
    expect(refusal.code, action).toBe('session_not_found');
    const foreign = await refused(action, { task_id: other.task, session_id: other.session, ...payload });
    expect(foreign.code, action).toBe('task_unreachable');
  }
  for (const action of ['task.session.list', 'task.session.create', 'message.get']) {
    const payload = { 'task.session.create': { name: 'x' }, 'message.get': { client_message_id: 'x' } }[action];
    expect((await refused(action, { task_id: other.task, ...payload })).code, action).toBe('task_unreachable');
  }
});

test('the form of a request', async () => {
  const { task_id } = on;
  const direct = { ...on, content: 'x', client_message_id: 'x' };
  const wrong: [string, object, string][] = [
    ['message.get', { task_id }, 'One of message_id'],
    ['message.get', { task_id, client_message_id: 'a', client_queue_id: 'a' }, 'One of message_id'],
    ['message.add', { ...direct, require_primary_sesion: true }, 'require_primary_sesion'],
    [
      'message.add',
      { ...direct, plan_comment_refs: [{ ...comment, body: 'mine' }] },
      'plan_comment_refs.0.body is not a field',
    ],
    ['message.add', { ...direct, plan_comment_refs: null }, 'plan_comment_refs'],
    [
      'message.queue.append',
      { ...on, content: 'x', client_queue_id: 'x', plan_comment_refs: [] },
      'plan_comment_refs is not a field',
    ],
    ['message.queue.remove', { ...on, entry_id: 'no uuid' }, 'entry_id'],
  ];
  for (const [action, payload, message] of wrong) {
    expect(await refused(action, payload)).toMatchObject({
      ...{ code: 'VALIDATION_ERROR', message: expect.stringContaining(message) },
    });
  }
});

test('run needs the primary session, and falls back to the queue', async () => {
  const { id } = await call('task.session.create', { task_id: cast.task, name: 'two', is_primary: true });
  const run = { ...on, content: '', plan_comment_refs: [comment], require_primary_session: true, plan_mode: true };
  expect(await refused('message.add', { ...run, client_message_id: 'r1' })).toMatchObject({
    code: 'primary_session_changed',
    details: { primary_session_id: id, primary_session_state: 'CREATED' },
  });
  const primary = { ...run, session_id: id };
  expect((await refused('message.add', { ...primary, client_message_id: 'r1' })).code).toBe('session_not_promptable');
  const queued = await call('message.queue.add', { ...primary, client_queue_id: 'r1' });
  expect(await call('message.add', { ...primary, client_message_id: 'r1' })).toEqual({ ...queued, replayed: true });
  expect(await call('message.queue.get', { ...on, session_id: id })).toMatchObject({
    count: 1,
    entries: [{ client_queue_id: 'r1', plan_mode: true, comments: [comment], author_name: 'Ann' }],
  });
});

test('a queue is filled, edited, reordered and emptied', async () => {
  await call('session.set_state', { ...on, state: 'RUNNING' });
  expect(await call('message.queue.auto_run.set', { ...on, auto_run: false })).toMatchObject({
    ...on,
    auto_run: false,
  });
  const add = (client_queue_id: string) =>
    call('message.queue.add', { ...on, content: client_queue_id, client_queue_id });
  await add('a');
  await add('b');
  await call('message.queue.append', { ...on, content: 'more', client_queue_id: 'c' });
  const queue = await call('message.queue.get', on);
  expect(queue).toMatchObject({ ...on, count: 2, max: 10, entries: [{ content: 'a' }, { content: 'b\n\nmore' }] });
  const [a, b] = queue.entries.map(({ id }: { id: string }) => id);
  const updated = await call('message.queue.update', { ...on, entry_id: b, content: 'B' });
  expect(updated).toMatchObject({ entries: [{ content: 'a' }, { content: 'B' }] });
  const { queue_incarnation } = updated;
  const stale = { ...on, entry_ids: [b, a], queue_incarnation: randomUUID() };
  expect((await refused('message.queue.reorder', stale)).code).toBe('queue_changed');
  const reordered = await call('message.queue.reorder', { ...on, entry_ids: [b, a], queue_incarnation });
  expect(reordered.entries.map(({ id }: { id: string }) => id)).toEqual([b, a]);
  await told('message.queue.status_changed', reordered);
  expect(await call('message.queue.remove', { ...on, entry_id: b })).toMatchObject({ count: 1, entries: [{ id: a }] });
  expect((await refused('message.queue.remove', { ...on, entry_id: b })).code).toBe('queue_entry_not_found');
  const emptied = await call('message.queue.cancel', on);
  expect(emptied).toMatchObject({ count: 0, entries: [] });
  expect(emptied.queue_incarnation).not.toBe(queue_incarnation);
  await told('message.queue.status_changed', emptied);
});

test('chosen entries of a queue go out in one prompt, of the turn that the caller saw', async () => {
  await call('message.queue.auto_run.set', { ...on, auto_run: false });
  const add = (client_queue_id: string) =>
    call('message.queue.add', { ...on, content: client_queue_id, client_queue_id });
  for (const id of ['a', 'b', 'c']) await add(id);
  const { entries } = await call('message.queue.get', on);
  const [, b, c] = entries.map(({ id }: { id: string }) => id);
  const { turn_id } = (await call('task.session.list', { task_id: cast.task })).sessions.find(
    ({ id }: { id: string }) => id === on.session_id,
  );
  const changed = { ...on, entry_ids: [c, b], turn_id: randomUUID() };
  expect((await refused('message.queue.send_now', changed)).code).toBe('queue_changed');
  expect(await call('message.queue.send_now', { ...changed, turn_id })).toMatchObject(on);
  expect((await refused('message.queue.drain', on)).code).toBe('session_not_promptable'); // busy with these
});

test('a queue is drained by its head', async () => {
  await call('message.queue.auto_run.set', { ...on, auto_run: false });
  await call('message.queue.add', { ...on, content: 'a', client_queue_id: 'a' });
  expect(await call('message.queue.drain', on)).toMatchObject(on);
  await call('session.set_state', { ...on, state: 'RUNNING' });
  expect((await refused('message.queue.drain', on)).code).toBe('session_not_promptable');
});

test('a transcript is listed in pages, before a message and after one', async () => {
  for (const n of [1, 2, 3]) {
    const { id } = await call('message.add', { ...on, content: `${n}`, client_message_id: `m${n}` });
    await deliver(id);
    await call('session.set_state', { ...on, state: 'WAITING_FOR_INPUT' });
  }
  const list = async (page: object) => (await call('message.list', { ...on, ...page })).messages;
  const [one, two, three] = await list({});
  expect([one, two, three].map(({ content }) => content)).toEqual(['1', '2', '3']);
  expect(await list({ limit: 2 })).toEqual([two, three]);
  expect(await list({ before_message_id: two.id })).toEqual([one]);
  expect(await list({ after_message_id: one.id, limit: 1 })).toEqual([two]);
  expect((await refused('message.list', { ...on, limit: 0 })).code).toBe('validation_error');
});

test('what SQL commits is told too, a state once for each look', async () => {
  const by = { principal: cast.service, ...on };
  await db.ledger.messageAdd({ ...by, client_message_id: 's', content: 'typed in psql' });
  await told('session.message.added', { content: 'typed in psql', author_name: 'CI' });
  await told('task.session.changed', { id: on.session_id, accepts: 'queue' });
  const before = watcher.frames.length;
  await db.app.begin(async (sql) => {
    const ledger = createLedger(sql);
    for (const id of ['a', 'b', 'c']) await ledger.queueAdd({ ...by, client_queue_id: id, content: id });
  });
  await told('message.queue.status_changed', { count: 3 });
  const queues = watcher.frames.slice(before).filter(({ action }) => action === 'message.queue.status_changed');
  expect(queues.map(({ payload }) => payload.count)).toEqual([3]);
  expect(queues[0]?.payload).toEqual(await call('message.queue.get', on));
});

test('where events may have been missed, every session and queue is told anew', async () => {
  await db.admin`revoke execute on function planledger.events_read(text) from planledger_app`;
  await sleep(1_200);
  await call('message.queue.add', { ...on, content: 'unheard', client_queue_id: 'u' });
  await db.admin`delete from planledger.events`;
  await db.admin`grant execute on function planledger.events_read(text) to planledger_app`;
  await told('message.queue.status_changed', await call('message.queue.get', on));
  await told('task.session.changed', { id: cast.session });
  await told('task.session.changed', { id: on.session_id });
});

test('a transcript that cannot be read holds up neither plan nor comments', async () => {
  await db.admin`revoke execute on function planledger.message_get(uuid, text, uuid) from planledger_app`;
  try {
    await call('message.add', { ...on, content: 'x', client_message_id: 'x', plan_comment_refs: [comment] });
    await told('task.plan.comments.changed', { comments: [] });
    await call('task.plan.update', { task_id: cast.task, content: 'b' });
    await told('task.plan.updated', { content: 'b' });
  } finally {
    await db.admin`grant execute on function planledger.message_get(uuid, text, uuid) to planledger_app`;
  }
});
