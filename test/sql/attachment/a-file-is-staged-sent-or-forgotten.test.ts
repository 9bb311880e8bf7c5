import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, nobody, storedDelivery, useWorker } from '../deliveries.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
const worker = useWorker(db);

async function setting() {
  const made = await makeSession(db, null, 'WAITING_FOR_INPUT');
  const text = { ...made.by, name: 'notes.txt', media_type: 'text/plain', content: Buffer.from('notes') };
  const stage = (change: object = {}) => db.ledger.attachmentStage({ ...text, ...change });
  const get = (attachment_id: string | null, change: object = {}) =>
    db.ledger.attachmentGet({ ...made.by, attachment_id, ...change });
  const send = (attachments: string[], change: object = {}) =>
    db.ledger.messageAdd({ ...made.on, client_message_id: 'files', content: 'go', attachments, ...change });
  return { ...made, stage, get, send };
}

test('a staged file is its owner’s, byte for byte, until a prompt carries it to all who read the task', async () => {
  const { stage, get, send, cast, task } = await setting();
  const content = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  const staged = await stage({ content, name: '𝒏\u202Etxt.exe', media_type: 'application/x.y+z' });
  expect(staged).toEqual({
    ...{ id: expect.any(String), task_id: task, name: '𝒏\u202Etxt.exe', media_type: 'application/x.y+z' },
    ...{ bytes: 256, created_at: expect.any(Date) },
  });
  const file = await get(staged.id);
  expect(file).toMatchObject({ id: staged.id, name: staged.name, media_type: staged.media_type });
  expect(Buffer.from(file.content).equals(content)).toBe(true);
  expect(await failure(get(staged.id, { principal: cast.service }))).toMatchObject({ code: 'attachment_not_found' });
  await send([staged.id]);
  expect(await get(staged.id, { principal: cast.service })).toEqual(file);
});

test.each([
  ['name', { name: '' }],
  ['name', { name: null }],
  ['name', { name: 'a/b' }],
  ['name', { name: '..\\b' }],
  ['name', { name: '..' }],
  ['name', { name: 'a\nb' }],
  ['name', { name: 'a\u0085b' }],
  ['name', { name: '𝒏'.repeat(201) }],
  ['media_type', { media_type: '' }],
  ['media_type', { media_type: null }],
  ['media_type', { media_type: 'text' }],
  ['media_type', { media_type: 'text/plain; charset=utf-8' }],
  ['media_type', { media_type: 'text/plain\nx' }],
  ['media_type', { media_type: 'x'.repeat(201) }],
  ['content', { content: Buffer.alloc(0) }],
  ['content', { content: Buffer.alloc(10_485_761) }],
  ['task_id', { task_id: null }],
])('a bad %s stages nothing', async (argument, change) => {
  const { stage, task } = await setting();
  const before = await storedDelivery(db, task);
  expect(await failure(stage(change))).toMatchObject({ code: 'validation_error', details: { argument } });
  expect(await storedDelivery(db, task)).toEqual(before);
});

test('a repeat with the same id and file is answered as it is stored, and no other file takes the id', async () => {
  const { stage, send, task, cast } = await setting();
  const attachment_id = randomUUID();
  const staged = await stage({ attachment_id });
  expect(staged).toMatchObject({ id: attachment_id });
  await db.admin`update planledger.attachments set created_at = 'epoch' where id = ${attachment_id}`;
  const again = await stage({ attachment_id });
  expect(again).toEqual({ ...staged, created_at: expect.any(Date) });
  expect(again.created_at.valueOf()).toBeGreaterThan(0);
  const before = await storedDelivery(db, task);
  for (const change of [
    { name: 'other.txt' },
    { media_type: 'text/html' },
    { content: Buffer.from('other') },
    { principal: cast.service },
  ]) {
    const error = await failure(stage({ attachment_id, ...change }));
    expect(error).toMatchObject({ code: 'validation_error', details: { argument: 'attachment_id' } });
  }
  expect(await storedDelivery(db, task)).toEqual(before);
  await send([attachment_id]);
  expect(await stage({ attachment_id })).toEqual(again);
  expect(await (await setting()).stage({ attachment_id })).toMatchObject({ id: attachment_id });
});

test('a file has 10 MiB at most and the files of one prompt 25 MiB, of which one too many claims none', async () => {
  const { stage, send, task } = await setting();
  const whole = Buffer.alloc(10_485_760, 1);
  const half = Buffer.alloc(5_242_880, 2);
  const ids = [];
  for (const content of [whole, whole, half]) ids.push((await stage({ content })).id);
  const crumb = await stage({ content: Buffer.from('x') });
  const before = await storedDelivery(db, task);
  expect(await failure(send([...ids, crumb.id]))).toMatchObject({
    ...{ code: 'validation_error', details: { argument: 'attachments' } },
  });
  expect(await storedDelivery(db, task)).toEqual(before);
  expect(await send(ids)).toMatchObject({ state: 'pending' });
});

test('a prompt takes each file once, all of them, and only those its sender staged for the task', async () => {
  const { stage, send, task, cast, on } = await setting();
  const mine = (await stage()).id;
  const theirs = (await stage({ principal: cast.service })).id;
  const other = (await (await setting()).stage()).id;
  const before = await storedDelivery(db, task);
  for (const attachments of [
    [mine, mine],
    [mine, theirs],
    [mine, other],
    [mine, randomUUID()],
  ]) {
    expect(await failure(send(attachments))).toMatchObject({ code: 'attachment_not_found' });
  }
  expect(await storedDelivery(db, task)).toEqual(before);
  const sent = await send([mine]);
  expect(await send([mine])).toMatchObject({ id: sent.id, replayed: true });
  const call = db.ledger.queueAdd({ ...on, client_queue_id: 'again', content: 'x', attachments: [mine] });
  expect(await failure(call)).toMatchObject({ code: 'attachment_not_found' });
});

test('the files go out with the prompt in its order, for whoever has the token', async () => {
  const { stage, send, task } = await setting();
  const names = ['b', 'a', 'c'];
  const ids = [];
  for (const name of names) ids.push((await stage({ name, content: Buffer.from(name) })).id);
  const { id: receipt_id } = await send(ids.toReversed());
  const { lease_token: token } = await worker.ledger.receiptReserve({ task_id: task, receipt_id, holder: 'one' });
  const files = await worker.ledger.receiptAttachments({ task_id: task, token });
  expect(files.map(({ name, content }) => [name, String(Buffer.from(content))])).toEqual([
    ['c', 'c'],
    ['a', 'a'],
    ['b', 'b'],
  ]);
  const marked = await worker.ledger.receiptMarkAttempted({ task_id: task, token });
  expect(marked.attachment_ids).toEqual(ids.toReversed());
  for (const wrong of [nobody, null]) {
    expect(await worker.ledger.receiptAttachments({ task_id: task, token: wrong })).toEqual([]);
  }
  await worker.ledger.receiptAcknowledge({ task_id: task, token });
  expect(await worker.ledger.receiptAttachments({ task_id: task, token })).toEqual([]);
});

test('what nobody sent within a day goes, and what was sent stays with its task', async () => {
  const { stage, send, get, task, by } = await setting();
  const [old, fresh, sent] = [(await stage()).id, (await stage()).id, (await stage()).id];
  await send([sent]);
  await db.admin`
    update planledger.attachments set created_at = clock_timestamp() - interval '24 hours 1 second'
    where task_id = ${task} and id in (${old}, ${sent})`;
  await db.admin`
    update planledger.attachments set created_at = clock_timestamp() - interval '23 hours 59 minutes' where id = ${fresh}`;
  expect(await worker.ledger.attachmentsPrune({})).toEqual({ attachments_prune: '1' });
  expect(await failure(get(old))).toMatchObject({ code: 'attachment_not_found' });
  for (const id of [fresh, sent]) expect(await get(id)).toMatchObject({ id });
  expect(await worker.ledger.attachmentsPrune({ keep: '1 hour' })).toEqual({ attachments_prune: '1' });
  expect(await worker.ledger.attachmentsPrune({ keep: '1 hour' })).toEqual({ attachments_prune: '0' });
  await db.ledger.taskDelete(by);
  expect(await db.admin`select from planledger.attachments where task_id = ${task}`).toHaveLength(0);
});

test.each([null, '59 minutes', '0 seconds', '-1 day'])('what is kept for %s is refused, and kept', async (keep) => {
  const { stage, get, task } = await setting();
  const { id } = await stage();
  await db.admin`update planledger.attachments set created_at = 'epoch' where task_id = ${task}`;
  const call = createLedger(db.admin).attachmentsPrune({ keep });
  expect(await failure(call)).toMatchObject({ code: 'validation_error', details: { argument: 'keep' } });
  expect(await get(id)).toMatchObject({ id });
});

test('who does not reach the task, or may not write there, stages and reads nothing', async () => {
  const { stage, get, send, cast, task } = await setting();
  const { id } = await stage();
  await send([id]);
  const other = await setting();
  await db.admin`update planledger.principals set scopes = '{plan:read,plan:write,task:read}' where id = ${cast.agent}`;
  const before = await storedDelivery(db, task);
  for (const principal of [other.cast.user, cast.agent, randomUUID()]) {
    expect(await failure(stage({ principal }))).toMatchObject({ code: 'task_unreachable' });
  }
  expect(await storedDelivery(db, task)).toEqual(before);
  expect(await get(id, { principal: cast.agent })).toMatchObject({ id });
  expect(await failure(get(id, { principal: other.cast.user }))).toMatchObject({ code: 'task_unreachable' });
  expect(await failure(other.get(id))).toMatchObject({ code: 'attachment_not_found' });
  expect(await failure(get(null))).toMatchObject({ code: 'attachment_not_found' });
});
