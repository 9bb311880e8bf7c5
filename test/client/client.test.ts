import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, onTestFinished, test } from 'vitest';
import {
  type Client,
  type ClientState,
  type CommentSnapshot,
  followComments,
  type Notification,
  openClient,
} from '../../src/client/index.ts';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { buildHttpServer } from '../../src/surfaces/http/server.ts';
import { openFaultyNetwork } from '../chaos/support/faulty-network.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { tokenFor } from '../surfaces/mcp/clients.ts';

const db = useDatabase();

async function listen(port = 0, ledger = db.ledger) {
  const app = await buildHttpServer({ sql: db.app, ledger, logger: pino({ level: 'silent' }) });
  await app.listen({ host: '127.0.0.1', port });
  onTestFinished(() => app.close());
  return { app, port: (app.server.address() as AddressInfo).port };
}

function connect(port: number, token: string) {
  const states: ClientState[] = [];
  const client = openClient({ url: `ws://127.0.0.1:${port}/ws`, token, onState: (state) => states.push(state) });
  onTestFinished(() => client.close());
  return { client, states };
}

async function makePlan() {
  const cast = await makeCast(db);
  const plan = await db.ledger.planCreate({ principal: cast.user, task_id: cast.task, content: 'a' });
  const tokens = { user: await tokenFor(db, cast.user), agent: await tokenFor(db, cast.agent) };
  return { ...cast, plan, tokens };
}

async function notificationsOf(client: Client, task: string): Promise<Notification[]> {
  const heard: Notification[] = [];
  await client.subscribe(task, { notified: (notification) => heard.push(notification) });
  return heard;
}

test('requests are answered with their types, refusals are errors with a code', async () => {
  const { task, tokens } = await makePlan();
  const { port } = await listen();
  const { client } = connect(port, tokens.user.token);
  expect((await client.request('task.plan.get', { task_id: task }))?.content).toBe('a');
  const updated = await client.request('task.plan.update', { task_id: task, content: 'b' });
  expect(updated).toMatchObject({ content: 'b', acknowledgement: { version: updated.version } });
  const stale = { task_id: task, content: 'c', expected_version: randomUUID() };
  await expect(client.request('task.plan.update', stale)).rejects.toMatchObject({
    code: 'plan_version_conflict',
    writeApplied: false,
    details: { current_version: updated.version },
  });
  client.close();
  await expect(client.request('task.plan.get', { task_id: task })).rejects.toMatchObject({ code: 'connection_lost' });
});

test('two stores of comments in two clients of two servers agree with the database', async () => {
  const { task, user, tokens } = await makePlan();
  const [one, two] = [await listen(), await listen()];
  const clients = [connect(one.port, tokens.user.token).client, connect(two.port, tokens.agent.token).client];
  const stores = await Promise.all(clients.map((client) => followComments(client, task)));
  const [first, second] = stores;
  const text = { selected_text: 'a', anchor_from: 0, anchor_to: 1 };
  const made = await first?.create({ body: 'one', ...text });
  await expect.poll(() => second?.snapshot.comments.map(({ body }) => body)).toEqual(['one']);
  if (made === undefined) expect.unreachable('no comment');
  await second?.edit(made, 'two');
  await expect(second?.edit(made, 'stale')).rejects.toMatchObject({ code: 'plan_comments_changed' });
  await Promise.all(Array.from({ length: 10 }, (_, n) => stores[n % 2]?.create({ body: `more ${n}`, ...text })));
  const present = await db.ledger.commentList({ principal: user, task_id: task });
  expect(present).toMatchObject({ revision: 12 });
  for (const store of stores) await expect.poll(() => store.snapshot).toEqual(present);

  // A plan deleted and made again begins with no comments.
  await db.ledger.planDelete({ principal: user, task_id: task });
  const again = await db.ledger.planCreate({ principal: user, task_id: task, content: 'b' });
  for (const store of stores) {
    await expect.poll(() => store.snapshot).toMatchObject({ plan_id: again.plan_id, comments: [] });
  }
});

test('when the server goes and comes back, requests wait, subscriptions go on and comments are current', async () => {
  const { task, user, plan, tokens } = await makePlan();
  const { app, port } = await listen();
  const { client, states } = connect(port, tokens.user.token);
  const heard = await notificationsOf(client, task);
  const seen: CommentSnapshot[] = [];
  const store = await followComments(client, task, (snapshot) => seen.push(snapshot));
  await app.close();
  await expect.poll(() => states.at(-1)).toBe('waiting');
  await db.ledger.commentCreate({
    ...{ principal: user, task_id: task, plan_id: plan.plan_id, comment_id: randomUUID(), body: 'missed' },
    ...{ selected_text: 'a', anchor_from: 0, anchor_to: 1 },
  });
  const waiting = client.request('task.plan.get', { task_id: task });
  await listen(port);
  expect((await waiting)?.content).toBe('a');
  await expect.poll(() => store.snapshot.comments.map(({ body }) => body)).toEqual(['missed']);
  const { version } = await db.ledger.planAppend({ principal: user, task_id: task, fragment: 'b' });
  await expect.poll(() => heard.at(-1)?.payload).toMatchObject({ revision_number: 1 });
  expect(heard.findLast(({ action }) => action === 'task.plan.updated')?.payload).toMatchObject({ version });
  expect(states).toEqual(['open', 'waiting', 'open']);
  expect(seen.at(-1)).toEqual(store.snapshot);
});

test('a subscription without anything but `notified` is one, on a connection that is open too', async () => {
  const { task, user, tokens } = await makePlan();
  const { port } = await listen();
  const { client } = connect(port, tokens.user.token);
  await client.request('task.get', { task_id: task });
  const heard = await notificationsOf(client, task);
  await db.ledger.planAppend({ principal: user, task_id: task, fragment: 'b' });
  await expect.poll(() => heard.map(({ action }) => action)).toContain('task.plan.updated');
});

test('a gateway that cannot answer for a while is asked again until it can', async () => {
  const { task, user, tokens } = await makePlan();
  const may = (what: 'grant' | 'revoke', on: string) =>
    db.admin.unsafe(
      `${what} execute on function planledger.${on}(uuid, text) ${what === 'grant' ? 'to' : 'from'} planledger_app`,
    );
  const { app, port } = await listen();
  const { client } = connect(port, tokens.user.token);
  const heard = await notificationsOf(client, task);
  const store = await followComments(client, task);
  const old = store.snapshot.plan_id;

  // Another plan, whose comments cannot be listed when it is told of.
  await may('revoke', 'comment_list');
  await db.ledger.planDelete({ principal: user, task_id: task });
  const { plan_id } = await db.ledger.planCreate({ principal: user, task_id: task, content: 'b' });
  await expect.poll(() => heard.some(({ action }) => action === 'task.plan.created')).toBe(true);
  await delay(300);
  expect(store.snapshot.plan_id).not.toBe(plan_id);
  await may('grant', 'comment_list');
  await expect.poll(() => store.snapshot.plan_id, { timeout: 5_000 }).toBe(plan_id);
  expect(plan_id).not.toBe(old);

  // A reconnect whose subscription cannot be answered.
  await may('revoke', 'plan_get');
  await app.close();
  await listen(port);
  await expect(client.request('task.plan.get', { task_id: task })).rejects.toMatchObject({ code: 'INTERNAL_ERROR' });
  await may('grant', 'plan_get');
  await delay(1_500);
  const about = { selected_text: 'b', anchor_from: 0, anchor_to: 1 };
  await db.ledger.commentCreate({
    ...{ principal: user, task_id: task, plan_id, comment_id: randomUUID(), body: 'late' },
    ...about,
  });
  await expect.poll(() => store.snapshot.comments.map(({ body }) => body), { timeout: 5_000 }).toEqual(['late']);
});

test('what is asked for when the connection opens is asked once', async () => {
  const { tokens, workspace } = await makePlan();
  const { port } = await listen();
  const made: Promise<unknown>[] = [];
  const client = openClient({
    ...{ url: `ws://127.0.0.1:${port}/ws`, token: tokens.user.token },
    onState: (state) => state === 'open' && made.push(client.request('task.create', { title: 'Once' })),
  });
  onTestFinished(() => client.close());
  await expect.poll(() => made).toHaveLength(1);
  await Promise.all(made);
  const rows = await db.admin`select from planledger.tasks where workspace_id = ${workspace} and title = 'Once'`;
  expect(rows).toHaveLength(1);
});

test('a task that is deleted ends its subscription with a refusal', async () => {
  const { task, user, tokens } = await makePlan();
  const { port } = await listen();
  const { client } = connect(port, tokens.user.token);
  const refusals: string[] = [];
  await client.subscribe(task, { notified: () => {}, refused: ({ code }) => refusals.push(code) });
  await db.ledger.taskDelete({ principal: user, task_id: task });
  await expect.poll(() => refusals, { timeout: 5_000 }).toEqual(['task_unreachable']);
});

test('a token that never worked ends the client too', async () => {
  const { port } = await listen();
  const { client, states } = connect(port, 'plt_wrong');
  await expect(client.request('task.list', {})).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  await expect.poll(() => states.at(-1)).toBe('unauthorized');
});

test('a plan that is deleted while its comments are listed leaves none behind', async () => {
  const { task, user, plan, tokens } = await makePlan();
  const about = { selected_text: 'x'.repeat(90_000), anchor_from: 0, anchor_to: 1 };
  const comment = { principal: user, task_id: task, plan_id: plan.plan_id, body: 'x'.repeat(60_000), ...about };
  for (let n = 0; n < 6; n += 1) await db.ledger.commentCreate({ ...comment, comment_id: randomUUID() });
  // The answer to the listing is held back until its plan is gone and that was told.
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Ledger = {
    ...db.ledger,
    async commentList(values) {
      const answer = await db.ledger.commentList(values);
      lists += 1;
      if (lists === 2) await held; // the first is the subscription's
      return answer;
    },
  };
  let lists = 0;
  const { port } = await listen(0, slow);
  const { client } = connect(port, tokens.user.token);
  await client.request('task.get', { task_id: task });
  const heard = await notificationsOf(client, task);
  lists = 0;
  const following = followComments(client, task);
  await expect.poll(() => lists).toBe(2);
  await db.ledger.planDelete({ principal: user, task_id: task });
  await expect.poll(() => heard.map(({ action }) => action)).toContain('task.plan.deleted');
  release();
  const store = await following;
  expect(store.snapshot).toMatchObject({ plan_id: null, comments: [] });
});

test('a connection that carries nothing any more is given up for another', async () => {
  const { task, user, plan, tokens } = await makePlan();
  const { port } = await listen();
  const network = await openFaultyNetwork(`http://127.0.0.1:${port}`);
  onTestFinished(() => network.close());
  const states: ClientState[] = [];
  const client = openClient({
    ...{ url: `${network.url.replace('http', 'ws')}ws`, token: tokens.user.token, quietMs: 300 },
    onState: (state) => states.push(state),
  });
  onTestFinished(() => client.close());
  const store = await followComments(client, task);
  await delay(1_500);
  expect(states).toEqual(['open']); // an idle connection that answers stays
  network.freezeConnections();
  await db.ledger.commentCreate({
    ...{ principal: user, task_id: task, plan_id: plan.plan_id, comment_id: randomUUID(), body: 'missed' },
    ...{ selected_text: 'a', anchor_from: 0, anchor_to: 1 },
  });
  await expect.poll(() => store.snapshot.comments.map(({ body }) => body), { timeout: 5_000 }).toEqual(['missed']);
  expect(states).toEqual(['open', 'waiting', 'open']);
});

test('a token that is revoked ends the client, which does not try again', async () => {
  const { task, tokens } = await makePlan();
  const { port } = await listen();
  const { client, states } = connect(port, tokens.user.token);
  await client.request('task.plan.get', { task_id: task });
  await createLedger(db.admin).tokenRevoke({ token_id: tokens.user.id });
  await expect(client.request('task.plan.get', { task_id: task })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
  await expect.poll(() => states).toEqual(['open', 'unauthorized']);
  await expect(client.request('task.plan.get', { task_id: task })).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
});
