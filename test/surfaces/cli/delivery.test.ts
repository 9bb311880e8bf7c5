import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Ledger } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { cli, expectMistake, succeed, useCaller } from './process.ts';

const db = useDatabase();
const caller = useCaller(db);
let worker: Ledger;
beforeAll(() => {
  worker = createLedger(db.admin);
});

const absent = '00000000-0000-4000-8000-000000000000';

/** A task of its own with a plan and a comment; session `s`, its primary, waits for a prompt where `free` says so. */
async function setting({ free = true, transport = 'acp' } = {}) {
  const by = { principal: caller.cast.user, task_id: `t-${randomUUID()}` };
  await db.ledger.taskCreate({ ...by, title: 'Task' });
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a plan' });
  const on = { ...by, session_id: 's' };
  await db.ledger.sessionCreate({ ...on, name: 'S', transport });
  if (free) await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  const comment = async (body: string) => {
    const comment_id = randomUUID();
    const about = { selected_text: 'plan', anchor_from: 2, anchor_to: 6 };
    await db.ledger.commentCreate({ ...by, plan_id, comment_id, body, ...about });
    return comment_id;
  };
  const queue = async () => (await db.ledger.queueGet(on)).entries.map(({ id }) => id);
  return { by, on, task: by.task_id, comment, queue };
}

const run = (...args: string[]) => cli(args, { env: caller.env });
const printed = (...args: string[]) => succeed(args, { env: caller.env });

/** What a command that has accepted a prompt printed: its id alone on stdout, and where it is. */
async function accepted(...args: string[]) {
  const { code, stdout, stderr } = await run(...args);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  return { id: stdout.trim(), says: stderr };
}

/** Has a receipt fail before its prompt went out, as a worker does that cannot reach the agent. */
async function fail(task_id: string, receipt_id: string) {
  for (;;) {
    await db.admin`update planledger.receipts set not_before = '-infinity' where id = ${receipt_id}`;
    const { lease_token } = await worker.receiptReserve({ task_id, receipt_id, holder: 'test' });
    await worker.receiptRelease({ task_id, token: String(lease_token), failure: 'no\nagent' });
    const [row] = await db.admin`select state from planledger.receipts where id = ${receipt_id}`;
    if (row?.state === 'failed') return;
  }
}

test('sessions are made, listed, made primary and closed', async () => {
  const { by, task } = await setting();
  const made = await run(
    'session',
    'create',
    task,
    'Second\n',
    '--agent',
    'bot',
    '--transport',
    'webhook',
    '--primary',
  );
  expect(made).toMatchObject({
    code: 0,
    stderr: 'Session "Second\\u{a}" is WAITING_FOR_INPUT, and the primary one.\n',
  });
  const id = made.stdout.trim();
  expect(await printed('session', 'create', task, 'Third', '--id', 'third')).toBe('third\n');
  expect(await db.ledger.sessionList(by)).toMatchObject([
    { id: 's', is_primary: false },
    { id, name: 'Second\n', agent_name: 'bot', transport: 'webhook', is_primary: true },
    { id: 'third', agent_name: 'Third', transport: null, is_primary: false },
  ]);
  expect(JSON.parse(await printed('session', 'primary', task, 's', '--json'))).toMatchObject({ is_primary: true });
  const closed = await run('session', 'close', task, id);
  expect(closed).toMatchObject({ code: 0, stdout: '', stderr: 'Session "Second\\u{a}" is COMPLETED.\n' });
  expect(await printed('session', 'list', task)).toMatch(
    /^SESSION +NAME +AGENT +TRANSPORT +STATE +PRIMARY +FAILURE\ns .* acp +WAITING_FOR_INPUT +yes +-\n.* Second\\u\{a\} +bot +webhook +COMPLETED +- +-\nthird .* - +CREATED +- +-\n$/,
  );
  expect(JSON.parse(await printed('session', 'list', task, '--json'))).toHaveLength(3);
  expectMistake(await run('session', 'primary', task, id), 1, 'session_terminal', 'CLI: session create');
  expectMistake(await run('session', 'close', task, 'absent'), 1, 'session_not_found', 'CLI: session list');
  expectMistake(await run('session', 'create', task, 'x', '--transport', 'pigeon'), 1, 'validation_error', 'acp');
});

test('send puts comments before the text, makes the session busy, and once', async () => {
  const { by, on, task, comment } = await setting();
  const [one, two, edited] = [await comment('One'), await comment('Two'), await comment('Old')];
  await db.ledger.commentUpdate({
    ...by,
    plan_id: (await db.ledger.commentList(by)).plan_id,
    comment_id: edited,
    expected_version: 1,
    body: 'New',
  });
  const args = ['send', task, 'go\u001b[31m\nat once', '--session', 's', '--id', 'm', '--plan-mode'];
  const request = [...args, '--comment', edited.toUpperCase(), '--comment', one];
  const sent = await accepted(...request);
  expect(sent.says).toBe('Goes out to session s now.\n');
  const [message] = await db.ledger.messageList(on);
  expect(message).toMatchObject({
    id: sent.id,
    client_id: 'm',
    plan_mode: true,
    comments: [
      { id: edited, version: 2 },
      { id: one, version: 1 },
    ],
  });
  expect((await db.ledger.commentList(by)).comments.map(({ id }) => id)).toEqual([two]);
  expect(await db.ledger.sessionList(by)).toMatchObject([{ state: 'RUNNING' }]);

  const again = await accepted(...request);
  expect(again).toMatchObject({ id: sent.id, says: expect.stringContaining('accepted before') });
  expectMistake(await run(...args, '--comment', one), 1, 'idempotency_conflict');
  expect(await db.ledger.messageList(on)).toHaveLength(1);

  expect(await printed('session', 'show', task, 's')).toMatch(
    /^-- Ann \(user, \w+\), [-\d: ]{19}\n {2}### Plan Comments\n\n {2}```\n {2}plan\n {2}```\n {2}> New\n\n(?:.*\n)+ {2}go\\u\{1b\}\[31m\n {2}at once\n$/,
  );
  expect(JSON.parse(await printed('session', 'show', task, 's', '--json'))).toMatchObject([
    { id: sent.id, content: expect.stringContaining('\n\ngo\u001b[31m\nat once') },
  ]);
});

test('a transcript of several pages is shown whole and in order', async () => {
  const { on, task } = await setting();
  await db.admin`
    insert into planledger.session_messages (task_id, id, session_id, role, kind, content, author_name)
    select ${task}, gen_random_uuid(), 's', 'agent', 'message', 'n' || n, 'Bot' from generate_series(1, 230) n order by n`;
  expect(await db.ledger.messageList(on)).toHaveLength(100);
  const text = await printed('session', 'show', task, 's');
  expect([...text.matchAll(/^ {2}n(\d+)$/gm)].map(([, n]) => Number(n))).toEqual(
    Array.from({ length: 230 }, (_, n) => n + 1),
  );
});

test('run sends a comment to the primary session, or puts it into its queue', async () => {
  const { by, on, task, comment, queue } = await setting();
  const [one, two] = [await comment('One'), await comment('Two')];
  const now = await accepted('run', task, one, '--id', 'r');
  expect(now.says).toBe('Goes out to session s now.\n');
  expect(await db.ledger.messageList(on)).toMatchObject([{ id: now.id, plan_mode: true, comments: [{ id: one }] }]);
  expect(await accepted('run', task, one, '--id', 'r')).toMatchObject({ id: now.id }); // busy by now: the other way
  expect(await queue()).toEqual([]);

  const later = await accepted('run', task, two);
  expect(later.says).toBe('Waits in the queue of session s, at place 1.\n');
  expect((await db.ledger.queueGet(on)).entries).toMatchObject([
    { id: later.id, plan_mode: true, comments: [{ id: two, version: 1 }] },
  ]);
  expect((await db.ledger.commentList(by)).comments).toEqual([]);
  expectMistake(await run('run', task, two), 1, 'plan_comments_changed', `planledger comment list ${task}`);

  const three = await comment('Three');
  await db.ledger.sessionClose(on); // and so there is no primary session
  expect(await accepted('run', task, one, '--id', 'r')).toMatchObject({ id: now.id });
  expectMistake(await run('run', task, three), 1, 'primary_session_changed', 'planledger session primary');
  expect((await db.ledger.commentList(by)).comments).toHaveLength(1);
});

test('run puts the comment into the queue where the session becomes busy at that moment', async () => {
  const { on, task, comment, queue } = await setting();
  const one = await comment('One');
  let late: ReturnType<typeof accepted> | undefined;
  await db.admin.begin(async (sql) => {
    await sql`select planledger.session_set_state(${on.principal}, ${task}, 's', 'RUNNING')`;
    late = accepted('run', task, one, '--id', 'r');
    await expect
      .poll(
        () =>
          db.admin`select from pg_stat_activity where application_name = 'planledger cli' and wait_event_type = 'Lock'`,
      )
      .toHaveLength(1);
  });
  const { id, says } = (await late) ?? {};
  expect(says).toBe('Waits in the queue of session s, at place 1.\n');
  expect(await queue()).toEqual([id]);
  expect(await db.ledger.messageList(on)).toEqual([]);
  expect(await db.ledger.deliveryGet({ ...on, client_id: 'r' })).toMatchObject({ id, action: 'queue' });
});

test('a prompt that is refused consumes nothing and says why', async () => {
  const { by, on, task, comment } = await setting({ free: false });
  const one = await comment('One');
  const to = (session: string, ...more: string[]) => run('send', task, 'go', '--session', session, ...more);
  expectMistake(await to('absent', '--comment', one), 1, 'session_not_found', 'CLI: session list');
  expectMistake(await to('s', '--comment', one), 1, 'session_not_promptable', 'queue');
  expectMistake(await to('s', '--comment', absent), 1, 'plan_comments_changed', absent);
  await db.ledger.sessionClose(on);
  expectMistake(await to('s', '--comment', one), 1, 'session_terminal', 'CLI: session create');
  expectMistake(await run('queue', 'add', task, 's', 'go', '--comment', one), 1, 'session_terminal');
  expectMistake(await run('queue', 'list', task, 'absent'), 1, 'session_not_found');
  expectMistake(await run('send', task, 'go'), 2, '--session');
  expectMistake(await run('send', task, '--session', 's'), 2, 'Give the text once');
  expect((await db.ledger.commentList(by)).comments).toHaveLength(1);
  expect(await db.ledger.receiptList(by)).toEqual([]);
});

test('entries of a queue are added, listed, edited, put into order and taken out', async () => {
  const { on, task, comment, queue } = await setting({ free: false });
  expect(await printed('queue', 'list', task, 's')).toBe('nothing waits\n');
  const one = await accepted('queue', 'add', task, 's', '- one', '--id', 'q');
  const two = await accepted('queue', 'add', task, 's', '--comment', await comment('Two'));
  expect([one.says, two.says]).toEqual([1, 2].map((n) => `Waits in the queue of session s, at place ${n}.\n`));
  expect(await accepted('queue', 'add', task, 's', '- one', '--id', 'q')).toMatchObject({ id: one.id });
  const three = JSON.parse(await printed('queue', 'add', task, 's', 'three', '--json'));
  expect(await queue()).toEqual([one.id, two.id, three.id]);
  const listed = await run('queue', 'list', task, 's');
  expect(listed.stderr).toBe('3 of at most 10 wait; auto-run is on\n');
  expect(listed.stdout).toMatch(
    new RegExp(
      `^ENTRY .*\n${one.id}  Ann \\(user\\)  0 .*- one\n${two.id} .*  1 .*### Plan Comments…\n${three.id} .*\n$`,
    ),
  );

  await printed('queue', 'reorder', task, 's', three.id, one.id, two.id);
  expect(await queue()).toEqual([three.id, one.id, two.id]);
  expectMistake(await run('queue', 'reorder', task, 's', three.id, one.id), 1, 'queue_changed');
  const edit = ['queue', 'edit', task, 's', one.id];
  await succeed([...edit, '-'], { env: caller.env, input: 'uno' });
  expect((await db.ledger.queueGet(on)).entries[1]).toMatchObject({ id: one.id, content: 'uno' });
  expectMistake(await run(...edit), 2, 'Give the text once');
  const left = JSON.parse(await printed('queue', 'remove', task, 's', one.id, '--json'));
  expect(left).toMatchObject({ count: 2, entries: [{ id: three.id }, { id: two.id }] });
  expectMistake(await run('queue', 'remove', task, 's', one.id), 1, 'queue_entry_not_found', one.id);
  expect(await run('queue', 'clear', task, 's')).toMatchObject({
    ...{ code: 0, stdout: '', stderr: '0 of at most 10 wait; auto-run is on\n' },
  });
  expect(await queue()).toEqual([]);
});

test('entries go out by themselves, by hand, and together', async () => {
  const { on, task, queue } = await setting();
  expect((await run('queue', 'auto-run', task, 's', 'off')).stderr).toContain('auto-run is off');
  expect(await db.ledger.queueGet(on)).toMatchObject({ auto_run: false });
  expectMistake(await run('queue', 'auto-run', task, 's', 'perhaps'), 2, 'on, off');
  const ids: string[] = [];
  for (const text of ['a', 'b', 'c']) ids.push((await accepted('queue', 'add', task, 's', text)).id);
  const [a = '', b = '', c = ''] = ids;
  await printed('queue', 'drain', task, 's');
  const wanted = await db.admin`select id from planledger.receipts where task_id = ${task} and is_wanted`;
  expect(wanted).toEqual([{ id: a }]);
  await printed('queue', 'send-now', task, 's', c, b);
  expect(await queue()).toEqual([a]);
  const together = await db.admin`
    select id from planledger.receipts where task_id = ${task} and dispatch_id is not null order by dispatch_place`;
  expect(together).toEqual([{ id: c }, { id: b }]);
  expectMistake(await run('queue', 'send-now', task, 's', b), 1, 'queue_entry_not_found');
});

test('receipts are listed and shown', async () => {
  const { task, on } = await setting();
  expect(await printed('receipt', 'list', task)).toBe('no receipts\n');
  const { id } = await accepted('send', task, 'go\nto \u0007it', '--session', 's', '--id', 'm');
  await fail(task, id);
  const waiting = await accepted('queue', 'add', task, 's', 'later');
  expect(await printed('receipt', 'list', task)).toMatch(
    new RegExp(
      `^RECEIPT +SESSION +STATE +ATTEMPTS +ACCEPTED \\(UTC\\) +FAILURE\n${waiting.id}  s +pending +0 .* -\n${id}  s +failed +5 +[-\\d: ]{19}  no…\n$`,
    ),
  );
  const only = ['receipt', 'list', task, '--session', 's', '--state', 'failed', '--json'];
  expect(JSON.parse(await printed(...only))).toMatchObject([{ id, failure: 'no\nagent' }]);
  const shown = await printed('receipt', 'show', task, id);
  for (const line of [`id: ${id}`, 'client_id: m', 'retryable: true', 'attempted_at: -', 'failure: no\\u{a}agent']) {
    expect(shown.split('\n')).toContain(line);
  }
  expect(shown).toMatch(/\n\ngo\nto \\u\{7\}it\n$/);
  const both = JSON.parse(await printed('receipt', 'show', task, id, '--json'));
  const receipt = await db.ledger.receiptGet({ ...on, receipt_id: id });
  expect(both).toEqual({ ...JSON.parse(JSON.stringify(receipt)), content: 'go\nto \u0007it' });
  expectMistake(await run('receipt', 'show', task, absent), 1, 'validation_error', `planledger receipt list ${task}`);
  expectMistake(await run('receipt', 'list', task, '--session', 'absent'), 1, 'session_not_found');
  expectMistake(await run('receipt', 'list', task, '--state', 'lost'), 1, 'validation_error', 'acknowledged');
});

test('what failed before it went out is tried again, what may have arrived is not', async () => {
  const { task, on } = await setting({ transport: 'webhook' });
  const nothing = await run('receipt', 'retry-failed', task);
  expect(nothing).toMatchObject({ code: 0, stdout: '', stderr: '0 are tried again\n' });
  const state = async (receipt_id: string) => (await db.ledger.receiptGet({ ...on, receipt_id }))?.state;

  const one = await accepted('send', task, 'one', '--session', 's');
  await fail(task, one.id);
  const ended = { ...on, session_id: 'ended' };
  await db.ledger.sessionCreate({ ...ended, name: 'Ended' });
  const left = await accepted('queue', 'add', task, 'ended', 'left');
  await db.ledger.sessionClose(ended);
  expect(await run('receipt', 'retry-failed', task)).toEqual({
    code: 0,
    stdout: `${one.id}\n`,
    stderr: '1 is tried again\n',
  });
  expect([await state(one.id), await state(left.id)]).toEqual(['pending', 'failed']);
  expectMistake(await run('receipt', 'retry-failed', task, left.id), 1, 'session_terminal');

  await fail(task, one.id);
  const again = JSON.parse(await printed('receipt', 'retry-failed', task, one.id, '--json'));
  expect(again).toMatchObject([{ id: one.id, state: 'pending', attempts: 0 }]);
  const { lease_token } = await worker.receiptReserve({ task_id: task, receipt_id: one.id, holder: 'test' });
  const token = String(lease_token);
  await worker.receiptMarkAttempted({ task_id: task, token });
  expectMistake(await run('receipt', 'retry-failed', task, one.id), 1, 'validation_error', 'may have arrived');
  await worker.receiptEndAttempt({ task_id: task, token, state: 'failed', failure: 'refused' });
  expectMistake(await run('receipt', 'retry-failed', task, one.id), 1, 'validation_error', 'may have arrived');
  expect((await run('receipt', 'retry-failed', task)).stderr).toContain('0 are tried again');
  expect(await state(one.id)).toBe('failed');

  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  const first = await accepted('queue', 'add', task, 's', 'first');
  await db.admin`update planledger.receipts set state = 'failed', ended_at = now() where id = ${first.id}`;
  for (let at = 0; at < 10; at += 1) await accepted('queue', 'add', task, 's', `${at}`);
  expect(await run('receipt', 'retry-failed', task)).toEqual({
    code: 1,
    stdout: '',
    stderr: `${first.id} stays failed: The queue of session s has its 10 entries already. Nothing was added.\n0 are tried again\n`,
  });
  expect(await state(first.id)).toBe('failed');
  const dismissed = await run('receipt', 'dismiss', task, first.id);
  expect(dismissed).toEqual({ code: 0, stdout: '', stderr: 'dismissed\n' });
  expect(await printed('receipt', 'show', task, first.id)).toMatch(/^dismissed_at: \d{4}-/m);
});

test('--attach sends files with a prompt, a repeat with the same files is a repeat, and with others a conflict', async () => {
  const { by, on, task, comment } = await setting();
  const folder = await mkdtemp(path.join(tmpdir(), 'planledger-attach-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const write = async (name: string, content: Uint8Array | string) => {
    await writeFile(path.join(folder, name), content);
    return path.join(folder, name);
  };
  const picture = await write('Bild 🦜.png', randomBytes(1_000));
  const notes = await write('notes', 'a note');
  const request = ['send', task, 'go', '--session', 's', '--id', 'm', '--attach', picture, '--attach', notes];
  const sent = await accepted(...request);
  const files = async () => (await db.ledger.messageList(on))[0]?.attachments;
  expect(await files()).toEqual([
    { id: expect.any(String), name: 'Bild 🦜.png', media_type: 'image/png', bytes: 1_000 },
    { id: expect.any(String), name: 'notes', media_type: 'application/octet-stream', bytes: 6 },
  ]);
  const again = await accepted(...request);
  expect(again).toEqual({ id: sent.id, says: expect.stringMatching(/^This request was accepted before;/) });
  const [attachment] = (await files()) ?? [];
  const { content } = await db.ledger.attachmentGet({ ...by, attachment_id: attachment?.id ?? '' });
  expect(content).toEqual(await readFile(picture));

  const kept = async () =>
    (await db.admin`select delivery_id is null as waits from planledger.attachments where task_id = ${task}`).map(
      ({ waits }) => waits,
    );
  expect(await kept()).toEqual([false, false]);
  await write('notes', 'another note');
  expectMistake(await run(...request), 1, 'idempotency_conflict');
  expectMistake(await run(...request.slice(0, -2)), 1, 'idempotency_conflict');
  expect((await kept()).sort()).toEqual([false, false, true]);

  const busy = ['send', task, 'more', '--session', 's', '--id', 'n', '--attach', notes];
  expectMistake(await run(...busy), 1, 'session_not_promptable');
  await accepted('queue', 'add', task, 's', 'more', '--id', 'n', '--attach', notes);
  await accepted('queue', 'add', task, 's', 'twice', '--attach', notes, '--attach', notes);
  await db.ledger.sessionSetPrimary(on);
  await accepted('run', task, await comment('Why?'), '--attach', notes);
  expect((await kept()).filter((waits) => waits)).toHaveLength(1);
});

test('what cannot be attached is refused before anything is sent', async () => {
  const { on, task } = await setting();
  const folder = await mkdtemp(path.join(tmpdir(), 'planledger-attach-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const [empty, large] = [path.join(folder, 'empty'), path.join(folder, 'large')];
  await writeFile(empty, '');
  await writeFile(large, new Uint8Array(10 * 1_048_576 + 1));
  const send = (file: string) => run('send', task, 'go', '--session', 's', '--attach', file);
  expectMistake(await send(path.join(folder, 'absent')), 2, 'Cannot read', 'no such file', '--attach');
  expectMistake(await send(folder), 2, 'Cannot read', 'directory', '--attach');
  expectMistake(await send(empty), 2, 'is empty', '--attach');
  expectMistake(await send(large), 2, 'has more than 10485760 bytes', '--attach');
  expect(await db.ledger.messageList(on)).toEqual([]);
});
