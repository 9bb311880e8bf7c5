import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { startHttp, tokenFor } from '../mcp/clients.ts';
import { openSocket, type Socket } from './socket.ts';

const db = useDatabase();
let cast: Cast;
let url: string;
let user: Socket;

beforeEach(async () => {
  cast = await makeCast(db);
  ({ url } = await startHttp(db));
  user = await openSocket(url, (await tokenFor(db, cast.user)).token);
});

/** The payload of an answer that must be no error. */
async function call(action: string, payload: object = {}, socket = user) {
  const answer = await socket.request(action, payload);
  expect(answer, JSON.stringify(answer)).toMatchObject({ type: 'response', action });
  return answer.payload;
}

/** The payload of a refusal. */
async function refused(action: string, payload: object = {}, socket = user) {
  const answer = await socket.request(action, payload);
  expect(answer).toMatchObject({ type: 'error', action });
  return answer.payload;
}

test('a plan from nothing to its deletion, as a browser does it', async () => {
  const on = { task_id: cast.task };
  expect(await call('task.plan.get', on)).toBeNull();
  const created = await call('task.plan.create', { ...on, content: '# One', title: 'Mine', author_name: 'Eve' });
  const { acknowledgement, ...plan } = created;
  expect(plan).toEqual({
    ...{ id: expect.any(String), task_id: cast.task, title: 'Mine', content: '# One', version: expect.any(String) },
    ...{ created_by: 'user', created_at: expect.any(String), updated_at: expect.any(String) },
  });
  expect(acknowledgement).toMatchObject({ outcome: 'created', version: plan.version, revision_number: 1 });
  expect(await call('task.plan.get', on)).toEqual(plan);

  // No version, no guard, also empty text; the title alone.
  expect(await call('task.plan.update', { ...on, content: '' })).toMatchObject({ content: '', title: 'Mine' });
  expect(await call('task.plan.update', { ...on, title: 'Other' })).toMatchObject({ content: '', title: 'Other' });
  const stale = await refused('task.plan.update', { ...on, content: 'x', expected_version: plan.version });
  expect(stale).toMatchObject({ code: 'plan_version_conflict', details: { write_applied: false, task_id: cast.task } });

  const { revisions } = await call('task.plan.revisions.list', on);
  expect(revisions).toMatchObject([{ revision_number: 1, author_kind: 'user', author_name: 'Ann', title: 'Other' }]);
  expect(revisions[0]).not.toHaveProperty('content');
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'by an agent' });
  const revision = await call('task.plan.revision.get', { ...on, revision_id: revisions[0].id });
  expect(revision).toEqual({ ...revisions[0], content: '', updated_at: expect.any(String) });
  const reverted = await call('task.plan.revert', { ...on, revision_id: revisions[0].id });
  expect(reverted).toMatchObject({ content: '', acknowledgement: { outcome: 'reverted', revision_number: 3 } });
  const list = (await call('task.plan.revisions.list', on)).revisions;
  expect(list[0]).toMatchObject({ revision_number: 3, revert_of_revision_id: revisions[0].id });

  const marker = await call('task.plan.implementation_started', { ...on, session_id: cast.session });
  expect(marker).toMatchObject({ implementation_started_by: 'user' });
  expect(await call('task.plan.get', on)).toMatchObject({ implementation_started_session_id: cast.session });
  expect(await call('task.plan.delete', on)).toMatchObject({ task_id: cast.task, plan_id: plan.id });
  expect(await call('task.plan.get', on)).toBeNull();
});

test('an agent has the agent rules here too', async () => {
  const agent = await openSocket(url, (await tokenFor(db, cast.agent)).token);
  const on = { task_id: cast.task };
  await call('task.plan.create', { ...on, content: 'x'.repeat(3000) }, agent);
  expect(await refused('task.plan.update', { ...on, content: 'y' }, agent)).toMatchObject({
    code: 'plan_version_required',
  });
  const { version } = await call('task.plan.get', on, agent);
  const shorter = { ...on, content: 'y', expected_version: version };
  expect(await refused('task.plan.update', shorter, agent)).toMatchObject({ code: 'plan_truncation_rejected' });
  expect(await call('task.plan.update', { ...shorter, allow_truncation: true }, agent)).toMatchObject({ content: 'y' });
  const source = (await call('task.plan.revisions.list', on, agent)).revisions[1];
  expect(await refused('task.plan.revert', { ...on, revision_id: source.id }, agent)).toMatchObject({
    code: 'validation_error',
  });
});

test('comments: each call answers the snapshot, a stale one gets it with the refusal', async () => {
  const on = { task_id: cast.task };
  const { id: plan_id } = await call('task.plan.create', { ...on, content: 'text' });
  const id = randomUUID();
  const made = { ...on, plan_id, id, body: 'Why?', selected_text: 'text', anchor_from: 0, anchor_to: 4 };
  const snapshot = await call('task.plan.comments.create', made);
  expect(snapshot).toMatchObject({ ...on, plan_id, revision: 1, comments: [{ id, body: 'Why?', version: 1 }] });
  expect(await call('task.plan.comments.list', on)).toEqual(snapshot);
  expect(await call('task.plan.comments.create', made)).toEqual(snapshot);
  expect(await refused('task.plan.comments.create', { ...made, body: 'x' })).toMatchObject({
    code: 'comment_id_conflict',
  });
  const edit = { ...on, plan_id, id, body: 'So?', expected_version: 1 };
  const edited = await call('task.plan.comments.update', edit);
  expect(edited).toMatchObject({ revision: 2, comments: [{ body: 'So?', version: 2 }] });
  expect(await refused('task.plan.comments.update', edit)).toMatchObject({
    code: 'plan_comments_changed',
    details: { snapshot: edited, write_applied: false },
  });
  expect(await refused('task.plan.comments.delete', { ...on, plan_id, id, expected_version: 1 })).toMatchObject({
    details: { snapshot: edited },
  });
  const deleted = await call('task.plan.comments.delete', { ...on, plan_id, id, expected_version: 2 });
  expect(deleted).toEqual({ ...on, plan_id, revision: 3, comments: [] });
});

test('tasks', async () => {
  const made = await call('task.create', { title: 'Below', parent_task_id: cast.task });
  expect(made).toMatchObject({ parent_task_id: cast.task, title: 'Below' });
  expect(await call('task.get', { task_id: made.id })).toMatchObject({ title: 'Below', archived_at: null });
  expect((await call('task.list')).tasks.map(({ id }: { id: string }) => id)).toContain(made.id);
  expect(await call('task.archive', { task_id: made.id })).toMatchObject({ archived_at: expect.any(String) });
  expect(await call('task.delete', { task_id: made.id })).toEqual({ id: made.id });
  expect(await refused('task.get', { task_id: made.id })).toMatchObject({ code: 'task_unreachable' });
});

describe('what is refused', () => {
  test('a task of another workspace, by every action', async () => {
    const other = await makeCast(db);
    const { plan_id, revision_id } = await db.ledger.planCreate({
      ...{ principal: other.user, task_id: other.task, content: 'Secret' },
    });
    const comment = { plan_id, id: randomUUID(), body: 'b', selected_text: 's', anchor_from: 0, anchor_to: 0 };
    const payloads: Record<string, object> = {
      'task.get': {},
      'task.archive': {},
      'task.delete': {},
      'task.subscribe': {},
      'task.plan.get': {},
      'task.plan.create': { content: 'x' },
      'task.plan.update': { content: 'x' },
      'task.plan.delete': {},
      'task.plan.revisions.list': {},
      'task.plan.revision.get': { revision_id },
      'task.plan.revert': { revision_id },
      'task.plan.implementation_started': { session_id: other.session },
      'task.plan.comments.list': {},
      'task.plan.comments.create': comment,
      'task.plan.comments.update': { plan_id, id: comment.id, body: 'b', expected_version: 1 },
      'task.plan.comments.delete': { plan_id, id: comment.id, expected_version: 1 },
    };
    for (const [action, payload] of Object.entries(payloads)) {
      const refusal = await refused(action, { task_id: other.task, ...payload });
      expect(refusal.code, action).toBe('task_unreachable');
      expect(JSON.stringify(refusal)).not.toMatch(new RegExp(`Secret|${plan_id}|${revision_id}|current_version`));
    }
    const plan = await db.ledger.planGet({ principal: other.user, task_id: other.task });
    expect(plan?.content).toBe('Secret');
  });

  test('unknown fields by name, but on create and update they are ignored', async () => {
    const on = { task_id: cast.task };
    expect(await call('task.plan.create', { ...on, content: 'a', mode: 'append', colour: 1 })).toMatchObject({
      content: 'a',
    });
    expect(await call('task.plan.update', { ...on, content: 'b', mode: 'append' })).toMatchObject({ content: 'b' });
    for (const action of [
      'task.plan.get',
      'task.plan.delete',
      'task.plan.comments.list',
      'task.subscribe',
      'task.list',
    ]) {
      const refusal = await refused(action, { ...(action === 'task.list' ? {} : on), require_primary_sesion: true });
      expect(refusal).toMatchObject({
        code: 'VALIDATION_ERROR',
        message: expect.stringContaining('require_primary_sesion'),
      });
    }
    for (const untrusted of ['author_kind', 'author_name', 'created_by', 'actor']) {
      expect(await call('task.plan.get', { ...on, [untrusted]: 'agent' })).toMatchObject({ content: 'b' });
    }
  });

  test('wrong types, text that cannot be stored, and what is no action', async () => {
    const on = { task_id: cast.task };
    const wrong: [string, object, string][] = [
      ['task.plan.get', {}, 'VALIDATION_ERROR'],
      ['task.plan.get', { task_id: 7 }, 'VALIDATION_ERROR'],
      ['task.plan.create', { ...on, content: 7 }, 'VALIDATION_ERROR'],
      ['task.plan.create', { ...on, content: 'a\u0000b' }, 'validation_error'],
      ['task.plan.create', { ...on, content: 'a', title: 'x'.repeat(201) }, 'validation_error'],
      ['task.plan.create', { ...on, content: 'x'.repeat(262_145) }, 'plan_content_too_large'],
      ['task.plan.comments.delete', { ...on, plan_id: 'x', id: 'no uuid', expected_version: 1 }, 'VALIDATION_ERROR'],
      [
        'task.plan.comments.delete',
        { ...on, plan_id: 'x', id: randomUUID(), expected_version: 1.5 },
        'VALIDATION_ERROR',
      ],
      [
        'task.plan.comments.delete',
        { ...on, plan_id: 'x', id: randomUUID(), expected_version: 2 ** 31 },
        'VALIDATION_ERROR',
      ],
      ['task.plans.get', on, 'UNKNOWN_ACTION'],
      ['constructor', on, 'UNKNOWN_ACTION'],
      ['__proto__', on, 'UNKNOWN_ACTION'],
    ];
    for (const [action, payload, code] of wrong) {
      expect((await refused(action, payload)).code, `${action} ${JSON.stringify(payload).slice(0, 80)}`).toBe(code);
    }
    expect(await db.ledger.planGet({ principal: cast.user, task_id: cast.task })).toBeNull();
  });
});
