import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { Ledger } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
let worker: Ledger;
beforeAll(() => {
  worker = createLedger(db.admin);
});

/** A task with a plan, two comments and a session that waits for a prompt. */
async function setting(transport: string | null = null) {
  const cast = await makeCast(db);
  const by = { principal: cast.user, task_id: cast.task };
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a plan' });
  const comments = [randomUUID(), randomUUID()] as const;
  for (const [n, comment_id] of comments.entries()) {
    const about = { selected_text: `text ${n}`, anchor_from: 0, anchor_to: 1 };
    await db.ledger.commentCreate({ ...by, plan_id, comment_id, body: `body ${n}`, ...about });
  }
  await db.ledger.sessionCreate({ ...by, name: 's', session_id: 's', transport, is_primary: true });
  await db.ledger.sessionSetState({ ...by, session_id: 's', state: 'WAITING_FOR_INPUT' });
  const on = { ...by, session_id: 's' };
  const session = async () => (await db.ledger.sessionList(by)).find(({ id }) => id === 's');
  const receipt = async (id: string) =>
    (
      await db.admin`select state, attempts, failure from planledger.receipts where task_id = ${cast.task} and id = ${id}`
    )[0];
  const messages = async () =>
    await db.admin`select id, content, client_id from planledger.session_messages where task_id = ${cast.task} order by position`;
  const jobs = async () => await db.admin`select key from planledger_jobs.jobs where key like 'receipt %' order by id`;
  return { cast, by, on, plan_id, comments, session, receipt, messages, jobs };
}

const reserve = (task_id: string, receipt_id: string, holder = 'test') =>
  worker.receiptReserve({ task_id, receipt_id, holder });

test('a direct message consumes its comments, makes the session busy, and is one transcript row with one receipt', async () => {
  const { by, on, comments, session, receipt, messages } = await setting();
  const refs = comments.toReversed().map((id) => ({ id, version: 1 }));
  const sent = await db.ledger.messageAdd({
    ...on,
    client_message_id: 'm',
    content: 'go',
    plan_comment_refs: refs,
  });
  const content = '### Plan Comments\n\n```\ntext 1\n```\n> body 1\n\n```\ntext 0\n```\n> body 0\n\n---\n\ngo';
  expect(sent).toMatchObject({
    action: 'message',
    client_id: 'm',
    state: 'pending',
    replayed: false,
    content,
    comments: refs,
  });
  expect(await messages()).toEqual([{ id: sent.id, content, client_id: 'm' }]);
  expect(await receipt(sent.id)).toMatchObject({ state: 'pending', attempts: 0 });
  expect(await session()).toMatchObject({ state: 'RUNNING', accepts: 'queue' });
  expect(await db.ledger.commentList(by)).toMatchObject({ revision: 3, comments: [] });
});

test('the same request again is answered with the stored delivery; with any difference it is a conflict', async () => {
  const { cast, on, comments, session } = await setting();
  const request = {
    ...on,
    client_message_id: 'm',
    content: 'go',
    plan_comment_refs: [{ id: comments[0], version: 1 }],
  };
  const sent = await db.ledger.messageAdd(request);
  const turn = (await session())?.turn_id;
  expect(await db.ledger.messageAdd(request)).toEqual({ ...sent, replayed: true });
  const { client_message_id, ...rest } = request;
  expect(await db.ledger.queueAdd({ ...rest, client_queue_id: client_message_id })).toEqual({
    ...sent,
    replayed: true,
  });
  for (const change of [
    { content: 'other' },
    { plan_comment_refs: [] },
    { plan_mode: true },
    { require_primary_session: true },
  ]) {
    const error = await failure(db.ledger.messageAdd({ ...request, ...change }));
    expect(error).toMatchObject({ code: 'idempotency_conflict', details: { delivery_id: sent.id } });
  }
  const theirs = await failure(db.ledger.messageAdd({ ...request, principal: cast.service }));
  expect(theirs.code).toBe('idempotency_conflict');
  expect(theirs.details).not.toHaveProperty('delivery_id');
  expect((await session())?.turn_id).toBe(turn);
});

test('a refused request consumes nothing', async () => {
  const { by, on, comments, messages, session } = await setting();
  const refs = [{ id: comments[0], version: 1 }];
  await db.ledger.sessionCreate({ ...by, name: 'other', session_id: 'other' });
  await db.ledger.sessionCreate({ ...by, name: 'ended', session_id: 'ended' });
  await db.ledger.sessionClose({ ...by, session_id: 'ended' });
  const message = { ...on, client_message_id: 'm', content: 'go', plan_comment_refs: refs };
  for (const [change, code] of [
    [{ session_id: 'absent' }, 'session_not_found'],
    [{ session_id: 'ended' }, 'session_terminal'],
    [{ session_id: 'other' }, 'session_not_promptable'],
    [{ session_id: 'other', require_primary_session: true }, 'primary_session_changed'],
    [{ plan_comment_refs: [{ id: comments[0], version: 2 }] }, 'plan_comments_changed'],
    [
      {
        plan_comment_refs: [
          { id: comments[0], version: 1 },
          { id: comments[0], version: 1 },
        ],
      },
      'plan_comments_changed',
    ],
    [{ plan_comment_refs: [{ id: 'x', version: 1 }] }, 'validation_error'],
    [{ content: 'x'.repeat(1_048_576) }, 'prompt_too_large'],
    [{ content: '', plan_comment_refs: [] }, 'validation_error'],
    [{ attachments: [randomUUID()] }, 'attachment_not_found'],
  ] as const) {
    const error = await failure(db.ledger.messageAdd({ ...message, ...(change as object) }));
    expect([change, error.code]).toEqual([change, code]);
  }
  const { details } = await failure(
    db.ledger.messageAdd({ ...message, session_id: 'other', require_primary_session: true }),
  );
  expect(details).toMatchObject({ primary_session_id: 's', primary_session_state: 'WAITING_FOR_INPUT' });
  expect(await messages()).toEqual([]);
  expect(await db.ledger.commentList(by)).toMatchObject({ revision: 2 });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' });
});

test('of two requests that name one comment exactly one is accepted', async () => {
  const { by, on, comments } = await setting();
  const refs = [{ id: comments[0], version: 1 }];
  const answers = await Promise.allSettled(
    ['a', 'b', 'c', 'd'].map((client_queue_id) =>
      db.ledger.queueAdd({ ...on, client_queue_id, content: 'x', plan_comment_refs: refs }),
    ),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect((await db.ledger.queueGet(on)).count).toBe(1);
  expect(await db.ledger.commentList(by)).toMatchObject({ revision: 3 });
});

test('reserve, mark, acknowledge: each needs the live token, and what was marked is never taken again', async () => {
  const { on, receipt } = await setting();
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  const lease = await reserve(on.task_id, id);
  expect(lease).toMatchObject({ outcome: 'reserved', session_id: 's' });
  expect((await reserve(on.task_id, id)).outcome).toBe('held');
  const token = String(lease.lease_token);
  expect((await failure(worker.receiptAcknowledge({ task_id: on.task_id, token }))).code).toBe('lease_lost');
  expect((await failure(worker.receiptMarkAttempted({ task_id: on.task_id, token: randomUUID() }))).code).toBe(
    'lease_lost',
  );
  expect(await worker.receiptMarkAttempted({ task_id: on.task_id, token })).toMatchObject({
    ...{ outcome: 'attempted', message_id: id, content: 'go', attachment_ids: [] },
  });
  expect((await failure(worker.receiptMarkAttempted({ task_id: on.task_id, token }))).code).toBe('lease_lost');
  expect((await failure(worker.receiptRelease({ task_id: on.task_id, token, failure: 'x' }))).code).toBe('lease_lost');
  expect((await reserve(on.task_id, id)).outcome).toBe('ended');
  await worker.receiptAcknowledge({ task_id: on.task_id, token });
  expect(await receipt(id)).toMatchObject({ state: 'acknowledged' });
});

test('a lease that expired is another worker’s, and the first can do nothing with it any more', async () => {
  const { on, receipt } = await setting();
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  const first = String((await reserve(on.task_id, id, 'frozen')).lease_token);
  await db.admin`update planledger.receipts set lease_expires_at = now() - interval '1 second' where id = ${id}`;
  const second = String((await reserve(on.task_id, id, 'next')).lease_token);
  for (const call of [
    () => worker.receiptMarkAttempted({ task_id: on.task_id, token: first }),
    () => worker.receiptRelease({ task_id: on.task_id, token: first, failure: 'x' }),
    () => worker.receiptAcknowledge({ task_id: on.task_id, token: first }),
  ]) {
    expect((await failure(call())).code).toBe('lease_lost');
  }
  expect(await receipt(id)).toMatchObject({ state: 'reserved', attempts: 2 });
  expect((await worker.receiptMarkAttempted({ task_id: on.task_id, token: second })).outcome).toBe('attempted');
});

test('a queued prompt goes out when the session waits, from the head, and writes its transcript row then', async () => {
  const { by, on, messages, session } = await setting();
  await db.ledger.sessionSetState({ ...on, state: 'RUNNING' });
  const [one, two] = [
    await db.ledger.queueAdd({ ...on, client_queue_id: 'one', content: '1' }),
    await db.ledger.queueAdd({ ...on, client_queue_id: 'two', content: '2' }),
  ];
  expect((await reserve(on.task_id, one.id)).outcome).toBe('waiting');
  await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  expect((await reserve(on.task_id, two.id)).outcome).toBe('waiting');
  const { lease_token } = await reserve(on.task_id, one.id);
  expect(await session()).toMatchObject({ state: 'RUNNING' });
  expect(await messages()).toEqual([]);
  await worker.receiptMarkAttempted({ task_id: on.task_id, token: String(lease_token) });
  expect(await messages()).toEqual([{ id: one.id, content: '1', client_id: 'one' }]);
  expect((await db.ledger.queueGet(on)).entries.map(({ id }) => id)).toEqual([two.id]);
  expect(await db.ledger.queueAdd({ ...by, session_id: 's', client_queue_id: 'one', content: '1' })).toMatchObject({
    ...{ id: one.id, state: 'attempted', replayed: true },
  });
});

test('a prompt that cannot be made ready is tried five times, each later, and then has failed; the session is free', async () => {
  const { on, receipt, session } = await setting();
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const { lease_token } = await reserve(on.task_id, id);
    const state = await worker.receiptRelease({
      task_id: on.task_id,
      token: String(lease_token),
      failure: `no ${attempt}`,
    });
    expect(JSON.stringify(state)).toContain(attempt === 5 ? 'failed' : 'pending');
    if (attempt < 5) expect((await reserve(on.task_id, id)).outcome).toBe('waiting');
    await db.admin`update planledger.receipts set not_before = '-infinity' where id = ${id}`;
  }
  expect(await receipt(id)).toMatchObject({ state: 'failed', attempts: 5, failure: 'no 5' });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: 'no 5' });
});

test('reconciliation gives expired reservations back, clears attempts nobody acknowledged, and never sends those again', async () => {
  const { on, receipt, session } = await setting('acp');
  const one = await db.ledger.messageAdd({ ...on, client_message_id: 'one', content: '1' });
  await reserve(on.task_id, one.id);
  await db.admin`update planledger.receipts set lease_expires_at = now() - interval '1 second' where id = ${one.id}`;
  expect(await worker.receiptsReconcile({})).toMatchObject({ cleared: '0' });
  expect(await receipt(one.id)).toMatchObject({ state: 'pending' });
  await db.admin`update planledger.receipts set not_before = '-infinity' where id = ${one.id}`;
  const { lease_token } = await reserve(on.task_id, one.id);
  await worker.receiptMarkAttempted({ task_id: on.task_id, token: String(lease_token) });
  await db.admin`update planledger.receipts set lease_expires_at = now() - interval '1 second' where id = ${one.id}`;
  expect(await worker.receiptsReconcile({})).toMatchObject({ cleared: '1' });
  expect(await receipt(one.id)).toMatchObject({ state: 'cleared' });
  expect((await reserve(on.task_id, one.id)).outcome).toBe('ended');
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' });
});

test('an agent that ends before its prompt is acknowledged leaves a session that waits, and why', async () => {
  const { on, session, receipt } = await setting('acp');
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  const { lease_token, agent_token } = await reserve(on.task_id, id);
  const prompt = { task_id: on.task_id, token: String(lease_token) };
  await worker.receiptMarkAttempted(prompt);
  await worker.agentEnd({ task_id: on.task_id, token: String(agent_token), failure: 'exit code 3' });
  expect(await session()).toMatchObject({ state: 'RUNNING' });
  await worker.receiptAcknowledge(prompt);
  expect(await receipt(id)).toMatchObject({ state: 'acknowledged' });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: 'exit code 3' });
});

test('entries are sent now in one prompt, before the others, with one transcript row', async () => {
  const { on, messages, receipt } = await setting();
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const [a, b, c] = await Promise.all(
    ['a', 'b', 'c'].map((client_queue_id) => db.ledger.queueAdd({ ...on, client_queue_id, content: client_queue_id })),
  );
  if (!a || !b || !c) expect.unreachable();
  expect((await reserve(on.task_id, a.id)).outcome).toBe('waiting');
  const queue = await db.ledger.queueSendNow({ ...on, entry_ids: [c.id, a.id] });
  expect(queue.entries.map(({ id }) => id)).toEqual([b.id]);
  const { lease_token } = await reserve(on.task_id, c.id);
  const attempted = await worker.receiptMarkAttempted({ task_id: on.task_id, token: String(lease_token) });
  expect(attempted).toMatchObject({ outcome: 'attempted', content: 'c\n\na' });
  expect(await messages()).toEqual([{ id: attempted.message_id, content: 'c\n\na', client_id: null }]);
  for (const { id } of [a, c]) expect(await receipt(id)).toMatchObject({ state: 'attempted' });
  expect(await receipt(b.id)).toMatchObject({ state: 'pending' });
});

test('an accepted prompt has one job in the same transaction', async () => {
  const { on, jobs } = await setting('acp');
  await expect(
    db.app.begin(async (sql) => {
      await createLedger(sql).messageAdd({ ...on, client_message_id: 'm', content: 'go' });
      throw new Error('undone');
    }),
  ).rejects.toThrow('undone');
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  expect((await jobs()).filter(({ key }) => key === `receipt ${id}`)).toHaveLength(1);
});

test('an append joins the caller’s last entry, a repeat changes nothing, and a session or task that ended takes none', async () => {
  const { cast, on, comments } = await setting();
  const queue = async () => (await db.ledger.queueGet(on)).entries.map(({ content }) => content);
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const append = (client_queue_id: string, content: string, principal = cast.user) =>
    db.ledger.queueAppend({ ...on, principal, client_queue_id, content });
  const first = await append('1', 'one');
  const joined = await append('2', 'two');
  expect(joined).toMatchObject({ id: first.id, client_id: '2', content: 'one\n\ntwo', replayed: false });
  expect(await append('2', 'two')).toEqual({ ...joined, replayed: true });
  expect((await failure(append('2', 'other'))).code).toBe('idempotency_conflict');
  await append('3', 'theirs', cast.service);
  await db.ledger.queueAdd({
    ...{ ...on, client_queue_id: '4', content: 'c' },
    plan_comment_refs: [{ id: comments[0], version: 1 }],
  });
  await append('5', 'five');
  expect(await queue()).toEqual([
    'one\n\ntwo',
    'theirs',
    expect.stringMatching(/^### Plan Comments\n.*\n\nc$/s),
    'five',
  ]);

  await db.ledger.sessionClose(on);
  expect((await failure(append('6', 'late'))).code).toBe('session_terminal');
  expect(await queue()).toEqual([]);
  expect(await db.ledger.receiptList({ ...on, state: 'failed' })).toMatchObject(
    Array.from({ length: 4 }, () => ({ failure: 'The session had ended.', retryable: false })),
  );
});

test('an archived task takes no prompt, and no append to one that waits', async () => {
  const { by, on } = await setting();
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  await db.ledger.queueAppend({ ...on, client_queue_id: '1', content: 'one' });
  await db.ledger.taskArchive(by);
  for (const call of [
    () => db.ledger.queueAppend({ ...on, client_queue_id: '2', content: 'two' }),
    () => db.ledger.messageAdd({ ...on, client_message_id: '3', content: 'three' }),
  ]) {
    expect(await failure(call())).toMatchObject({ code: 'validation_error', details: { argument: 'task_id' } });
  }
  expect((await db.ledger.queueGet(on)).entries.map(({ content }) => content)).toEqual(['one']);
});

test('what failed is tried again from the end of its queue, while the session lives and the queue has room', async () => {
  const { by, on, session } = await setting();
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const add = (client_queue_id: string) => db.ledger.queueAdd({ ...on, client_queue_id, content: client_queue_id });
  const shown = async () => (await db.ledger.queueGet(on)).entries.map(({ content }) => content);
  const retry = (receipt_id: string) => db.ledger.receiptRetry({ ...on, receipt_id });
  const first = await add('first');
  await add('second');
  await db.admin`
    update planledger.receipts set state = 'failed', ended_at = now(), failure = 'no agent', is_wanted = true, attempts = 5
    where id = ${first.id}`;
  expect(await shown()).toEqual(['second']);
  expect(await retry(first.id)).toMatchObject({ state: 'pending', attempts: 0, failure: null, retryable: false });
  expect(await shown()).toEqual(['second', 'first']);
  await db.admin`update planledger.receipts set state = 'failed', ended_at = now() where id = ${first.id}`;
  for (let n = 2; n <= 10; n += 1) await add(`${n}`);
  expect(await failure(retry(first.id))).toMatchObject({ code: 'queue_full', details: { max: 10 } });
  expect(await db.ledger.receiptGet({ ...by, receipt_id: first.id })).toMatchObject({
    state: 'failed',
    retryable: true,
  });

  const direct = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'direct' });
  await db.admin`update planledger.receipts set state = 'failed', ended_at = now() where id = ${direct.id}`;
  expect(await retry(direct.id)).toMatchObject({ state: 'pending' });
  await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  expect(await session()).toMatchObject({ state: 'RUNNING', turn_id: direct.id });

  await db.ledger.sessionClose(on);
  const left = await db.ledger.receiptList({ ...by, state: 'failed' });
  expect(left).toHaveLength(12);
  expect(left.filter(({ retryable }) => retryable)).toEqual([]);
  expect(await failure(retry(first.id))).toMatchObject({ code: 'session_terminal' });
  const [status] = await db.admin`select retryable from planledger.receipt_status where id = ${first.id}`;
  expect(status).toEqual({ retryable: false });
  const [stuck] = await db.admin`select meaning from planledger.stuck_deliveries where receipt_id = ${first.id}`;
  expect(stuck?.meaning).toContain('its session has ended');
});

test('receipts are paged newest first, and a page behind an unknown one is refused', async () => {
  const { by, on } = await setting();
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const ids = [];
  for (let n = 0; n < 5; n += 1)
    ids.unshift((await db.ledger.queueAdd({ ...on, client_queue_id: `${n}`, content: 'x' })).id);
  const page = async (before_receipt_id?: string) =>
    (await db.ledger.receiptList({ ...by, before_receipt_id, limit: 2 })).map(({ id }) => id);
  expect(await page()).toEqual(ids.slice(0, 2));
  expect(await page(ids[1])).toEqual(ids.slice(2, 4));
  expect(await page(ids[3])).toEqual(ids.slice(4));
  expect(await page(ids[4])).toEqual([]);
  const error = await failure(page(randomUUID()));
  expect(error).toMatchObject({ code: 'validation_error', details: { argument: 'before_receipt_id' } });
});

test('an agent that ends before its prompt is acknowledged ends the turn with why, once it is', async () => {
  const { by, on, session, receipt } = await setting('acp');
  const { task_id } = by;
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  const { lease_token, agent_token } = await reserve(task_id, id);
  await worker.receiptMarkAttempted({ task_id, token: lease_token ?? '' });
  await worker.agentEnd({ task_id, token: agent_token ?? '', failure: 'It broke.' });
  expect(await session()).toMatchObject({ state: 'RUNNING', failure: 'It broke.' });
  await worker.receiptAcknowledge({ task_id, token: lease_token ?? '' });
  expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: 'It broke.' });
  expect(await receipt(id)).toEqual({ state: 'acknowledged', attempts: 1, failure: null });
});
