import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import type { LedgerEvent } from '../../../src/events/feed.ts';
import type { Ledger } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { createNotifier } from '../../../src/surfaces/gateway/notify.ts';
import { createSubscriptions } from '../../../src/surfaces/gateway/subscriptions.ts';
import { openFaultyNetwork } from '../../chaos/support/faulty-network.ts';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { startHttp, tokenFor } from '../mcp/clients.ts';
import { openSocket, type Socket } from './socket.ts';

const db = useDatabase();

async function subscribe(url: string, cast: Cast, principal = cast.user): Promise<Socket & { tokenId: string }> {
  const { id, token } = await tokenFor(db, principal);
  const socket = await openSocket(url, token);
  expect((await socket.request('task.subscribe', { task_id: cast.task })).type).toBe('response');
  return { ...socket, tokenId: id };
}

const notifications = ({ frames }: Socket) =>
  frames.filter(({ type }) => type === 'notification').map(({ action, payload }) => ({ action, payload }));

test('what anybody commits reaches every subscriber, in order and with the state, and nobody else', async () => {
  const cast = await makeCast(db);
  const [one, two] = [await startHttp(db), await startHttp(db)];
  const here = await subscribe(one.url, cast);
  const there = await subscribe(two.url, cast, cast.agent);
  const other = await subscribe(two.url, await makeCast(db));
  const on = { task_id: cast.task };

  const { payload: created } = await here.request('task.plan.create', { ...on, content: 'a', title: 'T' });
  const { acknowledgement, ...plan } = created;
  const appended = await db.ledger.planAppend({ principal: cast.agent, ...on, fragment: 'typed in psql' });
  for (const socket of [here, there]) {
    expect((await socket.notification('task.plan.created')).payload).toMatchObject({ id: plan.id, title: 'T' });
    expect((await socket.notification('task.plan.updated')).payload).toMatchObject({
      content: 'a\n\ntyped in psql',
      version: appended.version,
    });
    const [first, second] = [1, 2].map((count) => socket.notification('task.plan.revision.created', count));
    expect((await first)?.payload).toMatchObject({ revision_number: 1, coalesced: false, author_kind: 'user' });
    expect((await second)?.payload).toMatchObject({ revision_number: 2, coalesced: false, author_kind: 'agent' });
    expect((await first)?.payload).not.toHaveProperty('content');
  }

  const comment = {
    ...on,
    plan_id: plan.id,
    id: randomUUID(),
    body: 'b',
    selected_text: 'a',
    anchor_from: 0,
    anchor_to: 1,
  };
  const { payload: snapshot } = await here.request('task.plan.comments.create', comment);
  expect((await there.notification('task.plan.comments.changed')).payload).toEqual(snapshot);
  const list = await here.request('task.plan.revisions.list', on);
  await here.request('task.plan.revert', { ...on, revision_id: list.payload.revisions[1].id });
  expect((await there.notification('task.plan.reverted')).payload).toMatchObject({
    revision_number: 3,
    revert_of_revision_id: list.payload.revisions[1].id,
  });
  await here.request('task.plan.delete', on);
  expect((await there.notification('task.plan.deleted')).payload).toEqual({ ...on, plan_id: plan.id });
  expect(notifications(other)).toEqual([]);
  expect(acknowledgement.version).toBe(plan.version);
});

test('without hints an event comes within a second and a half; unsubscribed, none comes', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db, { feed: { hints: false } });
  const socket = await subscribe(url, cast);
  const started = performance.now();
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'a' });
  await socket.notification('task.plan.created');
  expect(performance.now() - started).toBeLessThan(1_500);
  await socket.request('task.unsubscribe', { task_id: cast.task });
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
  await sleep(1_500);
  expect(notifications(socket).map(({ action }) => action)).not.toContain('task.plan.updated');
});

test('a revoked token, and a principal that no longer reaches the task, are told nothing more', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  const [kept, revoked, lost] = [
    await subscribe(url, cast),
    await subscribe(url, cast, cast.agent),
    await subscribe(url, cast, cast.service),
  ];
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planCreate({ ...by, content: 'a' });
  for (const socket of [kept, revoked, lost]) await socket.notification('task.plan.created');
  await createLedger(db.admin).tokenRevoke({ token_id: revoked.tokenId });
  await db.admin`update planledger.principals set scopes = '{}' where id = ${cast.service}`;
  await db.ledger.planAppend({ ...by, fragment: 'secret' });
  await kept.notification('task.plan.updated');
  await sleep(300);
  for (const socket of [revoked, lost]) {
    expect(JSON.stringify(notifications(socket))).not.toContain('secret');
    expect(notifications(socket).map(({ action }) => action)).not.toContain('task.plan.updated');
  }
  expect((await lost.request('task.plan.get', { task_id: cast.task })).payload.code).toBe('task_unreachable');
  expect(await revoked.closed).toBe(4401); // it asked for nothing
});

test('when the one for whom the state is read loses the task just then, the others are told all the same', async () => {
  const cast = await makeCast(db);
  const told: Record<string, string[]> = { user: [], agent: [] };
  const subscriptions = createSubscriptions();
  for (const kind of ['user', 'agent'] as const) {
    const { id } = await tokenFor(db, cast[kind]);
    subscriptions.add(cast.task, {
      tokenId: id,
      send: (frame) => told[kind]?.push(JSON.parse(frame).action),
      tokenEnded: () => {},
    });
  }
  const ledger: Ledger = {
    ...db.ledger,
    async planGet(values) {
      if (told.loser === undefined) {
        told.loser = [];
        await db.admin`update planledger.principals set scopes = '{}' where id = ${values.principal}`;
      }
      return await db.ledger.planGet(values);
    },
  };
  await db.ledger.planCreate({ principal: cast.service, task_id: cast.task, content: 'a' });
  const notifier = createNotifier(subscriptions, pino({ level: 'silent' }));
  const event = { task_id: cast.task, kind: 'plan.created', id: '1', revision_number: 1, restored_from: null };
  await notifier.tell([event as LedgerEvent], ledger);
  expect([told.user, told.agent]).toEqual([[], []]);
  await notifier.tell([], ledger);
  expect([...(told.user ?? []), ...(told.agent ?? [])]).toEqual(['task.plan.updated']);
});

test('what cannot be read while somebody has locked it is told when it can', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  const by = { principal: cast.user, task_id: cast.task };
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a' });
  const socket = await subscribe(url, cast);
  await db.admin`alter function planledger.comment_list(uuid, text) set lock_timeout = '100ms'`;
  const holder = await db.admin.reserve();
  try {
    await holder`begin`;
    await createLedger(db.admin).commentCreate({
      ...{ ...by, plan_id, comment_id: randomUUID(), body: 'kept' },
      ...{ selected_text: 'a', anchor_from: 0, anchor_to: 1 },
    });
    await holder`lock table planledger.plan_comments in access exclusive mode`;
    await sleep(2_000);
    expect(notifications(socket).map(({ action }) => action)).not.toContain('task.plan.comments.changed');
  } finally {
    await holder`rollback`;
    holder.release();
    await db.admin`alter function planledger.comment_list(uuid, text) reset lock_timeout`;
  }
  expect((await socket.notification('task.plan.comments.changed')).payload).toMatchObject({ revision: 1 });
});

test('a plan that cannot be read keeps nothing else of its task from being told of', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  const by = { principal: cast.user, task_id: cast.task };
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a' });
  const socket = await subscribe(url, cast);
  await db.admin`update planledger.plan_segments set body = body || 'damage' where task_id = ${cast.task}`;
  await db.ledger.planAppend({ ...by, fragment: 'b' });
  await db.ledger.commentCreate({
    ...{ ...by, plan_id, comment_id: randomUUID(), body: 'told' },
    ...{ selected_text: 'a', anchor_from: 0, anchor_to: 1 },
  });
  expect((await socket.notification('task.plan.comments.changed')).payload).toMatchObject({ revision: 1 });
  expect(notifications(socket).map(({ action }) => action)).not.toContain('task.plan.updated');
  await db.admin`update planledger.plan_segments set body = replace(body, 'damage', '') where task_id = ${cast.task}`;
  expect((await socket.notification('task.plan.updated')).payload.content).toBe('a\n\nb');
});

test('a task that is deleted and made again at once is told as deleted', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planCreate({ ...by, content: 'a' });
  const socket = await subscribe(url, cast);
  await db.admin.begin(async (sql) => {
    const ledger = createLedger(sql);
    await ledger.taskDelete(by);
    await ledger.taskCreate({ ...by, title: 'Again' });
  });
  expect((await socket.notification('task.plan.deleted')).payload).toEqual({ task_id: cast.task, plan_id: null });
});

test('connections of the database that go silent are given up, and what was missed is told', async () => {
  const cast = await makeCast(db);
  const network = await openFaultyNetwork(db.url);
  const [sql, readers] = [await connect(network.url), await connect(network.url)];
  onTestFinished(async () => {
    await network.close();
    await Promise.all([sql.end({ timeout: 0 }), readers.end({ timeout: 0 })]);
  });
  const { url } = await startHttp(db, { sql, readers, feed: { silentMs: 1_000 } });
  const socket = await subscribe(url, cast);
  network.freezeConnections();
  const { version } = await db.ledger.planCreate({ principal: cast.user, task_id: cast.task, content: 'a' });
  expect((await socket.notification('task.plan.updated')).payload.version).toBe(version);
  // And from then on as ever.
  await db.ledger.planAppend({ principal: cast.user, task_id: cast.task, fragment: 'b' });
  expect((await socket.notification('task.plan.updated', 2)).payload.content).toBe('a\n\nb');
});

test('a deleted task ends its subscriptions with the news, also when another workspace takes its id', async () => {
  const cast = await makeCast(db);
  const other = await makeCast(db);
  const { url } = await startHttp(db);
  const socket = await subscribe(url, cast);
  await db.ledger.planCreate({ principal: cast.user, task_id: cast.task, content: 'a' });
  await socket.notification('task.plan.created');
  await db.admin.begin(async (sql) => {
    const ledger = createLedger(sql);
    await ledger.taskDelete({ principal: cast.user, task_id: cast.task });
    await ledger.taskCreate({ principal: other.user, task_id: cast.task, title: 'Foreign' });
    await ledger.planCreate({ principal: other.user, task_id: cast.task, content: 'foreign' });
  });
  expect((await socket.notification('task.plan.deleted')).payload).toEqual({ task_id: cast.task, plan_id: null });
  await sleep(1_200);
  expect(JSON.stringify(socket.frames)).not.toContain('foreign');
});

test('a transaction that commits late is notified, whatever was committed before', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  await db.ledger.planCreate({ principal: cast.user, task_id: cast.task, content: 'a' });
  const socket = await subscribe(url, cast);
  const other = await makeCast(db);
  await db.admin.begin(async (sql) => {
    await createLedger(sql).planAppend({ principal: cast.user, task_id: cast.task, fragment: 'late' });
    for (let n = 0; n < 3; n += 1) {
      await db.ledger.planCreate({ principal: other.user, task_id: other.task, content: `${n}`, policy: 'browser' });
      await sleep(600);
    }
    expect(JSON.stringify(notifications(socket))).not.toContain('late');
  });
  expect((await socket.notification('task.plan.updated')).payload.content).toBe('a\n\nlate');
});

test('the listening connection may be killed again and again: the last event comes', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planCreate({ ...by, content: '0' });
  const socket = await subscribe(url, cast);
  let last = '';
  for (let n = 1; n <= 20; n += 1) {
    await db.admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'`;
    last = (await db.ledger.planAppend({ ...by, fragment: `${n}` })).version;
    await sleep((n * 37) % 150);
  }
  await expect
    .poll(() => socket.frames.findLast(({ action }) => action === 'task.plan.updated')?.payload.version, {
      timeout: 5_000,
    })
    .toBe(last);
});

test('when events could not be read for a while, the state of every subscribed task is sent anew', async () => {
  const cast = await makeCast(db);
  const { url } = await startHttp(db);
  const by = { principal: cast.user, task_id: cast.task };
  await db.ledger.planCreate({ ...by, content: 'a' });
  const socket = await subscribe(url, cast);
  await db.admin`revoke execute on function planledger.events_read(text) from planledger_app`;
  await sleep(1_200);
  const { version } = await db.ledger.planAppend({ ...by, fragment: 'b' });
  await db.admin`delete from planledger.events`;
  await db.admin`grant execute on function planledger.events_read(text) to planledger_app`;
  expect((await socket.notification('task.plan.comments.changed')).payload).toMatchObject({
    revision: 0,
    comments: [],
  });
  expect(socket.frames.findLast(({ action }) => action === 'task.plan.updated')?.payload).toMatchObject({ version });
});

test('a plan that cannot be read keeps no other from being told of', async () => {
  const [damaged, sound] = [await makeCast(db), await makeCast(db)];
  const { url } = await startHttp(db);
  for (const { user, task } of [damaged, sound]) {
    await db.ledger.planCreate({ principal: user, task_id: task, content: 'a' });
  }
  await subscribe(url, damaged);
  const socket = await subscribe(url, sound);
  await db.admin`delete from planledger.plan_segments where task_id = ${damaged.task}`;
  for (const fragment of ['first', 'second']) {
    await db.ledger.planAppend({ principal: damaged.user, task_id: damaged.task, fragment });
    const { version } = await db.ledger.planAppend({ principal: sound.user, task_id: sound.task, fragment });
    await expect
      .poll(() => socket.frames.findLast(({ action }) => action === 'task.plan.updated')?.payload.version)
      .toBe(version);
  }
  expect(notifications(socket).map(({ action }) => action)).not.toContain('task.plan.comments.changed'); // no reset
});
