import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type TurnStart,
  type TurnStartHook,
  TurnStartRefusal,
  withTurnStartHooks,
} from '../../src/admission/turn-start.ts';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { openPool } from '../../src/postgres/connect.ts';
import { untilWaiting } from '../chaos/support/locks.ts';
import { failure } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();

/** A task with a plan, two comments and two sessions that wait for a prompt, and a facade with hooks. */
async function setting(...hooks: TurnStartHook[]) {
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
  }
  const hooked = withTurnStartHooks(db.ledger, { sql: db.app, hooks });
  onTestFinished(() => hooked.close());
  const on = { ...by, session_id: 's' };
  const plan_comment_refs = comments.map((id) => ({ id, version: 1 }));
  const message = { ...on, client_message_id: 'm', content: 'go', plan_comment_refs };
  return { cast, by, on, plan_id, comments, message, ledger: hooked.ledger };
}

/** A hook that tells when it runs and goes on when it is told to. */
function gate() {
  const began = Promise.withResolvers<TurnStart>();
  const go = Promise.withResolvers<{ session_id: string } | undefined>();
  const calls: TurnStart[] = [];
  const hook: TurnStartHook = (start) => {
    calls.push(start);
    began.resolve(start);
    return go.promise;
  };
  return { hook, began: began.promise, go: go.resolve, fail: go.reject, calls };
}

/** What a refused acceptance leaves as it was. */
async function state(task: string) {
  const [row] = await db.admin`
    select
      (select array_agg(c.id::text order by c.id) from planledger.plan_comments c where c.task_id = ${task}) as comments,
      (select count(*)::int from planledger.deliveries d where d.task_id = ${task}) as deliveries,
      (select count(*)::int from planledger.session_messages m where m.task_id = ${task}) as messages,
      (select count(*)::int from planledger.queue_entries q where q.task_id = ${task}) as entries`;
  return row;
}

test('a hook sees the request, and the prompt is accepted after it', async () => {
  const seen: TurnStart[] = [];
  const { ledger, message, by } = await setting((start) => void seen.push(start));
  expect(await ledger.messageAdd(message)).toMatchObject({ session_id: 's', state: 'pending', replayed: false });
  expect(seen).toEqual([{ ...message, method: 'messageAdd' }]);
  expect((await db.ledger.commentList(by)).comments).toEqual([]);
});

test('while a hook runs, other admissions and changes of comments wait, and plan writes go on', async () => {
  const { hook, began, go, calls } = gate();
  const { ledger, message, by, on, comments, plan_id } = await setting(hook);
  const sent = ledger.messageAdd(message);
  await began;
  await db.ledger.planAppend({ ...by, fragment: 'more' });

  const sql = openPool(db.url, { applicationName: 'waits for a hook', max: 8 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const others = createLedger(sql);
  const comment = { ...by, comment_id: comments[0], expected_version: 1 };
  const about = { selected_text: 'a', anchor_from: 0, anchor_to: 1 };
  const settled: string[] = [];
  const waiting = {
    edit: failure(others.commentUpdate({ ...comment, plan_id, body: 'new' })),
    delete: failure(others.commentDelete({ ...comment, plan_id, comment_id: comments[1] })),
    create: others.commentCreate({ ...by, plan_id, comment_id: randomUUID(), body: 'x', ...about }),
    queue: others.queueAdd({ ...on, client_queue_id: 'q', content: 'later' }),
    primary: others.sessionSetPrimary({ ...by, session_id: 'other' }),
  };
  for (const [name, one] of Object.entries(waiting)) void one.then(() => settled.push(name));
  await untilWaiting(db.admin, 'waits for a hook', 5);
  expect(settled).toEqual([]);
  go(undefined);
  expect(await sent).toMatchObject({ state: 'pending' });
  expect(await waiting.edit).toMatchObject({ code: 'plan_comments_changed' });
  expect(await waiting.delete).toMatchObject({ code: 'plan_comments_changed' });
  await Promise.all(Object.values(waiting));
  expect(calls).toHaveLength(1);
});

test('the deletion of the plan waits too, and takes nothing that was delivered', async () => {
  const { hook, began, go } = gate();
  const { ledger, message, by } = await setting(hook);
  const sent = ledger.messageAdd(message);
  await began;
  const sql = openPool(db.url, { applicationName: 'deletes the plan', max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const gone = createLedger(sql).planDelete(by);
  await untilWaiting(db.admin, 'deletes the plan');
  go(undefined);
  expect(await sent).toMatchObject({ comments: message.plan_comment_refs });
  await gone;
});

test('a replay is answered and a refusal made before any hook runs', async () => {
  const { hook, go, calls } = gate();
  go(undefined);
  const { ledger, message, on, comments } = await setting(hook);
  const sent = await ledger.messageAdd(message);
  expect(calls).toHaveLength(1);
  expect(await ledger.messageAdd(message)).toEqual({ ...sent, replayed: true });
  const { client_message_id: client_queue_id, ...rest } = message;
  expect(await ledger.queueAdd({ ...rest, client_queue_id })).toEqual({ ...sent, replayed: true });
  for (const [change, code] of [
    [{ content: 'other' }, 'idempotency_conflict'],
    [{ client_message_id: 'n' }, 'session_not_promptable'],
    [{ client_message_id: 'n', session_id: 'other', require_primary_session: true }, 'primary_session_changed'],
    [{ client_message_id: 'n', session_id: 'other' }, 'plan_comments_changed'],
    [
      { client_message_id: 'n', session_id: 'other', plan_comment_refs: [], content: 'x'.repeat(1_048_577) },
      'prompt_too_large',
    ],
    [{ client_message_id: 'n', session_id: 'none' }, 'session_not_found'],
    [{ client_message_id: '' }, 'validation_error'],
    [{ task_id: 't-none' }, 'task_unreachable'],
  ] as const) {
    expect(await failure(ledger.messageAdd({ ...message, ...change } as typeof message))).toMatchObject({ code });
  }
  await db.admin`update planledger.task_sessions set queue_max = 1 where task_id = ${on.task_id}`;
  await db.ledger.queueAdd({ ...on, client_queue_id: 'full', content: 'x' });
  const full = await failure(ledger.queueAdd({ ...on, client_queue_id: 'n', content: 'x', plan_comment_refs: [] }));
  expect(full).toMatchObject({ code: 'queue_full', details: { max: 1 } });
  expect(comments).toHaveLength(2);
  expect(calls).toHaveLength(1);
});

test('what is queued or appended to a queue waits for hooks too', async () => {
  const methods: string[] = [];
  const { ledger, on } = await setting((start) => void methods.push(start.method));
  await ledger.queueAutoRunSet({ ...on, auto_run: false });
  await ledger.queueAdd({ ...on, client_queue_id: '1', content: 'one' });
  await ledger.queueAppend({ ...on, client_queue_id: '2', content: 'two' });
  expect((await ledger.queueGet(on)).entries.map(({ content }) => content)).toEqual(['one\n\ntwo']);
  expect(methods).toEqual(['queueAdd', 'queueAppend']);
});

test.each(['messageAdd', 'queueAdd', 'queueAppend'] as const)(
  'a hook sends what %s accepts to another session, and a repeat names the one it was asked for',
  async (method) => {
    const { ledger, on, by } = await setting(
      () => ({ session_id: 'other' }),
      () => undefined,
    );
    for (const session_id of ['s', 'other']) await db.ledger.queueAutoRunSet({ ...by, session_id, auto_run: false });
    const id = method === 'messageAdd' ? 'client_message_id' : 'client_queue_id';
    const add = (content: string) => (ledger[method] as Ledger['queueAdd'])({ ...on, [id]: 'x', content } as never);
    const sent = await add('go');
    expect(sent).toMatchObject({ session_id: 'other', state: 'pending', replayed: false });
    expect(await add('go')).toEqual({ ...sent, replayed: true });
    expect(await failure(add('stop'))).toMatchObject({ code: 'idempotency_conflict' });
  },
);

test('a reroute to a session that takes nothing is refused whole', async () => {
  const { ledger, message, cast, by } = await setting(() => ({ session_id: 'other' }));
  await db.ledger.sessionClose({ ...by, session_id: 'other' });
  const before = await state(cast.task);
  expect(await failure(ledger.messageAdd(message))).toMatchObject({ code: 'session_terminal' });
  expect(await state(cast.task)).toEqual(before);
});

test('a hook that refuses says why, one that fails shows nothing, and neither lets anything be accepted', async () => {
  const secret = 'postgres://somebody:secret@host/db';
  const thrown = [new TurnStartRefusal('The task is paused.'), new Error(secret), secret];
  const { ledger, message, cast } = await setting(() => {
    throw thrown.shift();
  });
  const before = await state(cast.task);
  const refusal = await failure(ledger.messageAdd(message));
  expect(refusal.toJSON()).toMatchObject({
    code: 'turn_start_failed',
    message: 'The task is paused. Nothing was sent.',
  });
  for (let rest = 0; rest < 2; rest += 1) {
    const error = await failure(ledger.messageAdd(message));
    expect(error).toMatchObject({ code: 'turn_start_failed', writeApplied: false });
    expect(JSON.stringify(error)).not.toContain('secret');
  }
  expect(await state(cast.task)).toEqual(before);
});

test.each<unknown>([
  { session: 'other' },
  'other',
  7,
  [],
  {},
  { session_id: '' },
  { session_id: 5 },
  { session_id: Symbol('x') },
  () => {},
])('an answer of a hook that is none lets nothing be accepted: %s', async (answer) => {
  const { ledger, message, cast } = await setting((() => answer) as TurnStartHook);
  const before = await state(cast.task);
  expect(await failure(ledger.messageAdd(message))).toMatchObject({ code: 'turn_start_failed' });
  expect(await state(cast.task)).toEqual(before);
});

test('a refusal is told as far as people read one', async () => {
  const { ledger, message } = await setting(() => {
    throw new TurnStartRefusal(`\ud800\0${'x'.repeat(5_000)}`);
  });
  const { message: told } = await failure(ledger.messageAdd(message));
  expect(told).toBe(`\ufffd\ufffd${'x'.repeat(998)} Nothing was sent.`);
});

test('hooks have less time than others wait; then the prompt is refused and the task free', async () => {
  await createLedger(db.admin).settingsChange({ lock_wait: '3 seconds' });
  onTestFinished(async () => void (await createLedger(db.admin).settingsChange({ lock_wait: '15 seconds' })));
  const aborted = Promise.withResolvers<number>();
  const { ledger, message, cast, by, plan_id, comments } = await setting((_, signal) => {
    const began = performance.now();
    signal.addEventListener('abort', () => aborted.resolve(performance.now() - began));
    return new Promise(() => {});
  });
  const before = await state(cast.task);
  const sent = failure(ledger.messageAdd(message));
  const took = await aborted.promise;
  expect(took).toBeGreaterThan(1_900);
  expect(took).toBeLessThan(3_000);
  expect(await sent).toMatchObject({ code: 'turn_start_failed' });
  expect(await state(cast.task)).toEqual(before);
  await db.ledger.commentDelete({ ...by, plan_id, comment_id: comments[0], expected_version: 1 });
});

const meanwhile: [
  what: string,
  code: string,
  change: (made: Awaited<ReturnType<typeof setting>>) => Promise<unknown>,
][] = [
  [
    'a comment is deleted',
    'admission_lease_lost',
    ({ by, plan_id, comments }) =>
      db.ledger.commentDelete({ ...by, plan_id, comment_id: comments[1], expected_version: 1 }),
  ],
  [
    'a comment is edited',
    'admission_lease_lost',
    ({ by, plan_id, comments }) =>
      db.ledger.commentUpdate({ ...by, plan_id, comment_id: comments[1], expected_version: 1, body: 'new' }),
  ],
  ['the plan is deleted', 'admission_lease_lost', ({ by }) => db.ledger.planDelete(by)],
  [
    'another session becomes primary',
    'admission_lease_lost',
    ({ by }) => db.ledger.sessionSetPrimary({ ...by, session_id: 'other' }),
  ],
  ['the session ends', 'admission_lease_lost', ({ on }) => db.ledger.sessionClose(on)],
  ['the task is archived', 'admission_lease_lost', ({ by }) => db.ledger.taskArchive(by)],
  ['nothing else happens', 'admission_lease_lost', async () => undefined],
];

test.each(meanwhile)(
  'when the lease is lost while a hook runs and %s, nothing is accepted',
  async (_, code, change) => {
    const { hook, began, go } = gate();
    const made = await setting(hook);
    const { cast, ledger, message } = made;
    const sent = failure(ledger.messageAdd(message));
    await began;
    await cutLeases();
    await change(made);
    const before = await state(cast.task);
    go(undefined);
    expect(await sent).toMatchObject({ code, writeApplied: false });
    expect(await state(cast.task)).toEqual(before);
  },
);

/** Ends the connections that hold leases, and waits until they are gone. */
async function cutLeases(): Promise<void> {
  const cut = await db.admin`
    select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and application_name = 'planledger leases' and state <> 'idle'`;
  expect(cut).toHaveLength(1);
}

test('a hook is told that its lease was lost', async () => {
  const told = Promise.withResolvers<void>();
  const began = Promise.withResolvers<void>();
  const { ledger, message } = await setting(async (_, signal) => {
    began.resolve();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    told.resolve();
  });
  const sent = failure(ledger.messageAdd(message));
  await began.promise;
  await cutLeases();
  await told.promise;
  expect(await sent).toMatchObject({ code: 'admission_lease_lost' });
});

test('a session that an agent’s failure ends while a hook runs takes nothing', async () => {
  const { hook, began, go } = gate();
  const { cast, ledger, message, on } = await setting(hook);
  const sent = failure(ledger.messageAdd(message));
  await began;
  await db.admin`update planledger.task_sessions set state = 'FAILED' where task_id = ${on.task_id} and id = 's'`;
  const before = await state(cast.task);
  go(undefined);
  expect(await sent).toMatchObject({ code: 'session_terminal' });
  expect(await state(cast.task)).toEqual(before);
});

test('a client that goes while a hook runs ends it; one that goes later does not undo it', async () => {
  const { hook, began } = gate();
  const { cast, ledger, message } = await setting(hook);
  const client = new AbortController();
  const call = ledger.messageAdd as (values: object, options: { signal: AbortSignal }) => Promise<unknown>;
  const before = await state(cast.task);
  const sent = failure(call(message, { signal: client.signal }));
  await began;
  client.abort();
  expect(await sent).toMatchObject({ code: 'turn_start_failed' });
  expect(await state(cast.task)).toEqual(before);

  const later = new AbortController();
  const other = await setting(() => void later.abort());
  const accept = other.ledger.messageAdd as typeof call;
  const answer = await accept(other.message, { signal: later.signal }).catch((error: unknown) => error);
  await vi.waitFor(async () => expect(await state(other.cast.task)).toMatchObject({ deliveries: expect.any(Number) }));
  const [found] =
    await db.admin`select count(*)::int as n from planledger.deliveries where task_id = ${other.cast.task}`;
  // Aborted while the hook ran is aborted in time: refused, or accepted whole.
  expect(found?.n).toBe(answer instanceof Error ? 0 : 1);
});

test('the connection of a lease has an idle limit of its own, above the time of hooks', async () => {
  const { hook, began, go } = gate();
  const { ledger, message } = await setting(hook);
  const sent = ledger.messageAdd(message);
  await began;
  const [limits] = await db.admin.begin(async (sql) => {
    const { lease, hooks_max_ms } = await createLedger(sql).admissionLease(await someTask());
    const rows = await sql`select current_setting('idle_in_transaction_session_timeout') as idle`;
    return [{ lease, hooks_max_ms, idle: rows[0]?.idle }];
  });
  expect(limits).toEqual({ lease: expect.stringMatching(/^\d+$/), hooks_max_ms: 10_000, idle: '45s' });
  const [after] = await db.admin`select current_setting('idle_in_transaction_session_timeout') as idle`;
  expect(after).not.toEqual({ idle: '45s' });
  go(undefined);
  await sent;
});

async function someTask() {
  const { user, task } = await makeCast(db);
  return { principal: user, task_id: task };
}

test('many prompts of many tasks with hooks never wait for each other in a circle', async () => {
  const sql = openPool(db.url, { max: 2 });
  const hooked = withTurnStartHooks(createLedger(sql), { sql, hooks: [() => sleep(2).then(() => undefined)] });
  onTestFinished(async () => {
    await hooked.close();
    await sql.end({ timeout: 1 });
  });
  const tasks = await Promise.all(Array.from({ length: 4 }, () => setting()));
  const sent = await Promise.all(
    tasks.flatMap(({ on }) =>
      Array.from({ length: 5 }, (_, n) => hooked.ledger.queueAdd({ ...on, client_queue_id: `${n}`, content: `${n}` })),
    ),
  );
  expect(sent.map(({ state }) => state)).toEqual(Array(20).fill('pending'));
});

test('a pool of one connection is refused', async () => {
  const sql = openPool(db.url, { max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  expect(() => withTurnStartHooks(createLedger(sql), { sql, hooks: [] })).toThrow('two connections');
});
