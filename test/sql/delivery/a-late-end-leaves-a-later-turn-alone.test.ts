import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Ledger } from '../../../src/ledger/generated.ts';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
const worker = useWorker(db);

/** A session whose first prompt is taken by a worker, while somebody says that the session waits, and sends another. */
async function overtaken(transport: string | null, marked: boolean) {
  const made = await makeSession(db, transport, 'WAITING_FOR_INPUT');
  const { on, task } = made;
  const first = await db.ledger.messageAdd({ ...on, client_message_id: 'first', content: 'first' });
  const { lease_token, agent_token } = await worker.ledger.receiptReserve({
    ...{ task_id: task, receipt_id: first.id, holder: 'test' },
  });
  const lease = { task_id: task, token: String(lease_token) };
  if (marked) await worker.ledger.receiptMarkAttempted(lease);
  await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  const second = await db.ledger.messageAdd({ ...on, client_message_id: 'second', content: 'second' });
  const session = async () => (await db.ledger.sessionList(made.by)).find(({ id }) => id === on.session_id);
  const state = async (receipt_id: string) => (await db.ledger.receiptGet({ ...made.by, receipt_id }))?.state;
  expect(await session()).toMatchObject({ state: 'RUNNING', turn_id: second.id });
  return { ...made, first, second, lease, agent_token, session, state };
}

type Overtaken = Awaited<ReturnType<typeof overtaken>>;
const expire = ({ first }: Overtaken) =>
  db.admin`update planledger.receipts set lease_expires_at = clock_timestamp() - interval '1 second' where id = ${first.id}`;

const ends: [what: string, end: (made: Overtaken, ledger: Ledger) => Promise<unknown>, state: string][] = [
  ['acknowledged', ({ lease }, ledger) => ledger.receiptAcknowledge(lease), 'acknowledged'],
  ['refused', ({ lease }, ledger) => ledger.receiptEndAttempt({ ...lease, state: 'failed', failure: 'no' }), 'failed'],
  ['lost', ({ lease }, ledger) => ledger.receiptEndAttempt({ ...lease, state: 'cleared', failure: 'no' }), 'cleared'],
  [
    'reconciled',
    async (made, ledger) => {
      await expire(made);
      await ledger.receiptsReconcile({});
    },
    'cleared',
  ],
];

test.each(
  [null, 'webhook', 'acp', 'passthrough'].flatMap((transport) => ends.map((end) => [transport, ...end] as const)),
)(
  'transport %s: an attempt that is %s when another turn runs does not end that turn',
  async (transport, _, end, state) => {
    const made = await overtaken(transport, true);
    await end(made, worker.ledger);
    expect(await made.state(made.first.id)).toBe(state);
    expect(await made.session()).toMatchObject({ state: 'RUNNING', turn_id: made.second.id });
    const third = { ...made.on, client_message_id: 'third', content: 'third' };
    expect(await failure(db.ledger.messageAdd(third))).toMatchObject({ code: 'session_not_promptable' });
  },
);

test.each([null, 'webhook', 'acp', 'passthrough'])(
  'transport %s: what was only reserved is not sent into another turn, and goes out after it',
  async (transport) => {
    const made = await overtaken(transport, false);
    expect(await worker.ledger.receiptMarkAttempted(made.lease)).toMatchObject({ outcome: 'postponed', content: null });
    expect(await made.state(made.first.id)).toBe('pending');
    expect(await made.session()).toMatchObject({ state: 'RUNNING', turn_id: made.second.id });
    await db.admin`update planledger.receipts set state = 'acknowledged', attempted_at = now(), ended_at = now() where id = ${made.second.id}`;
    await db.ledger.sessionSetState({ ...made.on, state: 'WAITING_FOR_INPUT' });
    expect(await made.session()).toMatchObject({ state: 'RUNNING', turn_id: made.first.id });
  },
);

test.each([null, 'webhook', 'acp'])(
  'transport %s: what was reserved when somebody freed its session begins its turn again',
  async (transport) => {
    const { on, task, by } = await makeSession(db, transport, 'WAITING_FOR_INPUT');
    await db.ledger.queueAdd({ ...on, client_queue_id: 'q', content: 'queued' });
    const [{ id: receipt_id } = { id: '' }] = await db.ledger.receiptList(by);
    const { lease_token } = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'test' });
    await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
    const lease = { task_id: task, token: String(lease_token) };
    expect(await worker.ledger.receiptMarkAttempted(lease)).toMatchObject({ outcome: 'attempted', content: 'queued' });
    const session = (await db.ledger.sessionList(by)).find(({ id }) => id === on.session_id);
    expect(session).toMatchObject({ state: 'RUNNING', turn_id: receipt_id });
  },
);

test.each([null, 'webhook', 'passthrough'])(
  'transport %s: nothing is sent now into a turn that nobody can cancel',
  async (transport) => {
    const { on } = await makeSession(db, transport, 'WAITING_FOR_INPUT');
    await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'busy' });
    const { id } = await db.ledger.queueAdd({ ...on, client_queue_id: 'q', content: 'queued' });
    const error = await failure(db.ledger.queueSendNow({ ...on, entry_ids: [id] }));
    expect(error).toMatchObject({ code: 'session_not_promptable' });
    expect((await db.ledger.queueGet(on)).entries).toMatchObject([{ id }]);
  },
);

test('the files of entries sent in one prompt have 25 MiB at most', async () => {
  const { on, by } = await makeSession(db, null, 'WAITING_FOR_INPUT');
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const content = Buffer.alloc(9_000_000, 1);
  const entry_ids = [];
  for (const client_queue_id of ['1', '2', '3']) {
    const file = await db.ledger.attachmentStage({ ...by, name: 'f', media_type: 'a/b', content });
    entry_ids.push((await db.ledger.queueAdd({ ...on, client_queue_id, content: 'x', attachments: [file.id] })).id);
  }
  const error = await failure(db.ledger.queueSendNow({ ...on, entry_ids }));
  expect(error).toMatchObject({ code: 'validation_error', details: { argument: 'entry_ids' } });
  expect((await db.ledger.queueGet(on)).entries).toHaveLength(3);
  expect((await db.ledger.queueSendNow({ ...on, entry_ids: entry_ids.slice(1) })).entries).toHaveLength(1);
});

test('an append joins no entry that asks for a plan, and the last entry’s removal renews the queue', async () => {
  const { on } = await makeSession(db, null, 'WAITING_FOR_INPUT');
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  await db.ledger.queueAdd({ ...on, client_queue_id: '1', content: 'plan', plan_mode: true });
  await db.ledger.queueAppend({ ...on, client_queue_id: '2', content: 'act' });
  const before = await db.ledger.queueGet(on);
  expect(before.entries).toMatchObject([
    { content: 'plan', plan_mode: true },
    { content: 'act', plan_mode: false },
  ]);
  const [one, two] = before.entries.map(({ id }) => id);
  const after = await db.ledger.queueRemove({ ...on, entry_id: String(one) });
  expect(after.queue_incarnation).toBe(before.queue_incarnation);
  const empty = await db.ledger.queueRemove({ ...on, entry_id: String(two) });
  expect(empty).toMatchObject({ count: 0 });
  expect(empty.queue_incarnation).not.toBe(before.queue_incarnation);
});

test('references name id and version and nothing else; a repeat may write an id in capitals', async () => {
  const { on, by } = await makeSession(db, null, 'WAITING_FOR_INPUT');
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a plan' });
  const comment_id = randomUUID();
  const about = { selected_text: 'a', anchor_from: 0, anchor_to: 1 };
  await db.ledger.commentCreate({ ...by, plan_id, comment_id, body: 'b', ...about });
  const send = (plan_comment_refs: unknown) =>
    db.ledger.queueAdd({ ...on, client_queue_id: 'q', content: 'x', plan_comment_refs: plan_comment_refs as never });
  for (const bad of [
    [{ id: comment_id, version: 1, body: 'x' }],
    [{ id: comment_id, version: '1' }],
    [{ id: comment_id }],
    [{ id: comment_id, version: 1.5 }],
    [comment_id],
    [[]],
    [null],
    {},
    'x',
  ]) {
    const error = await failure(send(bad));
    expect(error, JSON.stringify(bad)).toMatchObject({
      code: 'validation_error',
      details: { argument: 'plan_comment_refs' },
    });
  }
  const sent = await send([{ id: comment_id, version: 1 }]);
  expect(await send([{ version: 1, id: comment_id.toUpperCase() }])).toEqual({ ...sent, replayed: true });
  const none = { ...on, client_queue_id: 'none', content: 'x', plan_comment_refs: null };
  expect(await db.ledger.queueAdd(none)).toMatchObject({ comments: [] });
});

test('a prompt of several people names all of them', async () => {
  const { on, cast, by } = await makeSession(db, null, 'WAITING_FOR_INPUT');
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const mine = await db.ledger.queueAdd({ ...on, client_queue_id: '1', content: 'mine' });
  const theirs = await db.ledger.queueAdd({ ...on, principal: cast.service, client_queue_id: '2', content: 'theirs' });
  await db.ledger.queueSendNow({ ...on, entry_ids: [mine.id, theirs.id] });
  const { lease_token } = await worker.ledger.receiptReserve({
    task_id: on.task_id,
    receipt_id: mine.id,
    holder: 'test',
  });
  await worker.ledger.receiptMarkAttempted({ task_id: on.task_id, token: String(lease_token) });
  const names = await db.admin`
    select display_name from planledger.principals where id in (${cast.user}, ${cast.service}) order by display_name`;
  const [message] = await db.ledger.messageList(on);
  expect(message).toMatchObject({
    content: 'mine\n\ntheirs',
    author_name: names.map((row) => row.display_name).join(', '),
  });
  expect(by.task_id).toBe(message?.task_id);
});

test('a prompt is rerouted only under the lease of hooks', async () => {
  const { on } = await makeSession(db, null, 'WAITING_FOR_INPUT');
  const call = db.ledger.queueAdd({ ...on, client_queue_id: 'q', content: 'x', rerouted_session_id: on.session_id });
  expect(await failure(call)).toMatchObject({ code: 'validation_error', details: { argument: 'rerouted_session_id' } });
});
