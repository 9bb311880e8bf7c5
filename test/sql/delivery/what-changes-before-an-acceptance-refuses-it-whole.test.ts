import { randomUUID } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import type { CommentReference, Ledger } from '../../../src/ledger/generated.ts';
import { createLedger, inTransaction } from '../../../src/ledger/ledger.ts';
import { openPool, type Sql } from '../../../src/postgres/connect.ts';
import { untilWaiting } from '../../chaos/support/locks.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
let sql: Sql;
beforeAll(() => {
  sql = openPool(db.url, { applicationName: 'accepts', max: 1 });
  return () => sql.end({ timeout: 1 });
});

/** A plan with two comments, and two sessions that wait for a prompt; `s` is the primary one. */
async function setting() {
  const cast = await makeCast(db);
  const by = { principal: cast.user, task_id: cast.task };
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a plan' });
  const comments = [randomUUID(), randomUUID()] as const;
  for (const comment_id of comments) {
    const about = { selected_text: 'a plan', anchor_from: 0, anchor_to: 6 };
    await db.ledger.commentCreate({ ...by, plan_id, comment_id, body: 'why?', ...about });
  }
  for (const session_id of ['s', 'other']) {
    await db.ledger.sessionCreate({ ...by, name: session_id, session_id, is_primary: session_id === 's' });
    await db.ledger.sessionSetState({ ...by, session_id, state: 'WAITING_FOR_INPUT' });
    await db.ledger.queueAutoRunSet({ ...by, session_id, auto_run: false });
  }
  const refs: CommentReference[] = comments.map((id) => ({ id, version: 1 }));
  const request = { ...by, session_id: 's', content: 'go', plan_comment_refs: refs };
  return { by, plan_id, comments, request };
}

type Made = Awaited<ReturnType<typeof setting>>;
type Action = (ledger: Ledger, made: Made, more?: object) => Promise<unknown>;
const message: Action = (ledger, { request }, more) =>
  ledger.messageAdd({ ...request, client_message_id: 'x', ...more });
const queued: Action = (ledger, { request }, more) => ledger.queueAdd({ ...request, client_queue_id: 'x', ...more });
const primary = { require_primary_session: true };

/** Everything an acceptance would change, but for the clock. */
async function state({ by: { task_id } }: Made) {
  const [row] = await db.admin`
    select
      (select jsonb_agg(c order by c.id) from planledger.plan_comments c where c.task_id = ${task_id}) as comments,
      (select jsonb_agg(h) from planledger.plan_comment_heads h where h.task_id = ${task_id}) as revision,
      (select jsonb_agg(d order by d.id) from planledger.deliveries d where d.task_id = ${task_id}) as deliveries,
      (select jsonb_agg(r order by r.id) from planledger.receipts r where r.task_id = ${task_id}) as receipts,
      (select jsonb_agg(m order by m.id) from planledger.session_messages m where m.task_id = ${task_id}) as messages,
      (select jsonb_agg(q order by q.id) from planledger.queue_entries q where q.task_id = ${task_id}) as entries,
      (select jsonb_agg(s order by s.id) from planledger.task_sessions s where s.task_id = ${task_id}) as sessions,
      (select count(*)::int from planledger.events e where e.task_id = ${task_id}) as events,
      (select count(*)::int from planledger_jobs.jobs where key like 'receipt %') as jobs`;
  return row;
}

const changes: [
  what: string,
  change: (ledger: Ledger, made: Made) => Promise<unknown>,
  actions: Action[],
  more: object,
  refusal: object,
][] = [
  [
    'a comment is deleted',
    (ledger, { by, plan_id, comments: [, comment_id] }) =>
      ledger.commentDelete({ ...by, plan_id, comment_id, expected_version: 1 }),
    [message, queued],
    {},
    { code: 'plan_comments_changed' },
  ],
  [
    'a comment is edited',
    (ledger, { by, plan_id, comments: [, comment_id] }) =>
      ledger.commentUpdate({ ...by, plan_id, comment_id, expected_version: 1, body: 'b'.repeat(65_536) }),
    [message, queued],
    {},
    { code: 'plan_comments_changed' },
  ],
  [
    'the plan is deleted',
    (ledger, { by }) => ledger.planDelete(by),
    [message, queued],
    {},
    { code: 'plan_comments_changed' },
  ],
  [
    'another prompt takes a comment',
    (ledger, { request, comments: [id] }) =>
      ledger.queueAdd({
        ...request,
        client_queue_id: 'y',
        session_id: 'other',
        plan_comment_refs: [{ id, version: 1 }],
      }),
    [message, queued],
    {},
    { code: 'plan_comments_changed' },
  ],
  [
    'another session becomes the primary one',
    (ledger, { by }) => ledger.sessionSetPrimary({ ...by, session_id: 'other' }),
    [message, queued],
    primary,
    {
      code: 'primary_session_changed',
      details: { session_id: 's', primary_session_id: 'other', primary_session_state: 'WAITING_FOR_INPUT' },
    },
  ],
  [
    'the primary session ends, and none is left',
    (ledger, { by }) => ledger.sessionClose({ ...by, session_id: 's' }),
    [message, queued],
    primary,
    { code: 'primary_session_changed', details: { primary_session_id: null, primary_session_state: null } },
  ],
  [
    'the session ends',
    (ledger, { by }) => ledger.sessionClose({ ...by, session_id: 's' }),
    [message, queued],
    {},
    { code: 'session_terminal', details: { session_id: 's' } },
  ],
  [
    'another message makes the session busy',
    (ledger, { by }) => ledger.messageAdd({ ...by, session_id: 's', client_message_id: 'y', content: 'first' }),
    [message],
    {},
    { code: 'session_not_promptable', details: { session_id: 's', state: 'RUNNING' } },
  ],
  [
    'its queue fills',
    async (ledger, { by }) => {
      for (let n = 0; n < 10; n += 1) {
        await ledger.queueAdd({ ...by, session_id: 's', client_queue_id: `${n}`, content: 'x' });
      }
    },
    [queued],
    {},
    { code: 'queue_full', details: { session_id: 's', max: 10 } },
  ],
  [
    'the task is archived',
    (ledger, { by }) => ledger.taskArchive(by),
    [message, queued],
    {},
    { code: 'validation_error', details: { argument: 'task_id' } },
  ],
  ['the task is deleted', (ledger, { by }) => ledger.taskDelete(by), [message, queued], {}, { code: 'task_not_found' }],
  [
    'the id is used for something else',
    (ledger, { by }) => ledger.queueAdd({ ...by, session_id: 'other', client_queue_id: 'x', content: 'else' }),
    [message, queued],
    {},
    { code: 'idempotency_conflict' },
  ],
];

const cases = changes.flatMap(([what, change, actions, more, refusal]) =>
  actions.map((action) => ({
    what,
    change,
    action,
    name: action === message ? 'message' : 'queue entry',
    more,
    refusal,
  })),
);

test.each(cases)(
  'a $name that would be accepted is refused when $what before it is',
  async ({ change, action, more, refusal }) => {
    const made = await setting();
    const rehearsed = await inTransaction(db.app, new AbortController().signal, ({ rehearse }) =>
      rehearse((ledger) => action(ledger, made, more)),
    );
    expect(rehearsed).toMatchObject({ state: 'pending', comments: made.request.plan_comment_refs });
    await change(db.ledger, made);
    const before = await state(made);
    // Who comes after the deletion of a task is not told that there ever was one.
    const now = 'code' in refusal && refusal.code === 'task_not_found' ? { code: 'task_unreachable' } : refusal;
    expect(await failure(action(db.ledger, made, more))).toMatchObject({ ...now, writeApplied: false });
    expect(await state(made)).toEqual(before);
  },
);

test.each(cases)(
  'a $name that waits while $what is refused by what was committed',
  async ({ change, action, more, refusal }) => {
    const made = await setting();
    const waits = createLedger(sql);
    let refused = Promise.resolve({} as Awaited<ReturnType<typeof failure>>);
    await db.admin.begin(async (transaction) => {
      await change(createLedger(transaction), made);
      refused = failure(action(waits, made, more));
      await untilWaiting(db.admin, 'accepts');
    });
    const error = await refused;
    expect(error).toMatchObject({ ...refusal, writeApplied: false });
    const after = await state(made);
    await failure(action(db.ledger, made, more));
    expect(await state(made)).toEqual(after);
  },
);

test('a prompt of one byte too many is refused, comments included, and one of exactly as many is not', async () => {
  const made = await setting();
  const { content } = (await inTransaction(db.app, new AbortController().signal, ({ rehearse }) =>
    rehearse((ledger) => message(ledger, made)),
  )) as { content: string };
  const room = 1_048_576 - (Buffer.byteLength(content) - 'go'.length);
  const before = await state(made);
  for (const action of [message, queued]) {
    expect(await failure(action(db.ledger, made, { content: 'x'.repeat(room + 1) }))).toMatchObject({
      code: 'prompt_too_large',
      details: { content_bytes: 1_048_577, limit_bytes: 1_048_576 },
    });
  }
  expect(await state(made)).toEqual(before);
  expect(await message(db.ledger, made, { content: 'x'.repeat(room) })).toMatchObject({ state: 'pending' });
});
