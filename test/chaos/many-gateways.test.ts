import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { driverSession, hasPsql, psqlSession } from '../docs/sessions.ts';
import { type Cast, makeCast, useDatabase } from '../support/fixture.ts';
import { main, startCli, useCleanup } from '../surfaces/cli/process.ts';
import { openSocket, type Socket } from '../surfaces/gateway/socket.ts';
import { caller, connectClient, tokenFor } from '../surfaces/mcp/clients.ts';
import { startWorker, type Worker } from './support/processes.ts';

const db = useDatabase();
const kept = useCleanup();

/** `planledger serve`, a process of its own; answers its URL and process id. */
async function startServe(): Promise<{ url: string; pid: number }> {
  const running = kept(startCli(['serve', '--port', '0'], { env: { DATABASE_URL: db.url } }));
  return await vi.waitFor(
    () => {
      const [url] = /http:\/\/[\d.]+:\d+/.exec(running.output.stdout) ?? [];
      if (url === undefined) throw new Error(`not serving yet: ${running.output.stderr}`);
      return { url, pid: running.child.pid ?? 0 };
    },
    { timeout: 10_000, interval: 20 },
  );
}

async function startGateway(applicationName: string, hints: boolean): Promise<Worker & { address: string }> {
  const worker = startWorker('gateway', { url: db.url, applicationName, hints });
  await worker.until('listening');
  return { ...worker, address: worker.of('listening')[0]?.url ?? '' };
}

async function makePlan() {
  const cast = await makeCast(db);
  const plan = await db.ledger.planCreate({ principal: cast.user, task_id: cast.task, content: 'start' });
  return { ...cast, plan, token: (await tokenFor(db, cast.user)).token };
}

async function subscribe(url: string, token: string, task: string): Promise<Socket> {
  const socket = await openSocket(url, token);
  expect((await socket.request('task.subscribe', { task_id: task })).type).toBe('response');
  return socket;
}

/** How long each of some comments made over one connection took until another had them, in milliseconds, sorted. */
async function timesOfComments(count: number, from: Socket, to: Socket, task_id: string, plan_id: string) {
  const times: number[] = [];
  for (let n = 1; n <= count; n += 1) {
    const about = { selected_text: 'start', anchor_from: 0, anchor_to: 5 };
    const started = performance.now();
    from.socket.send(
      JSON.stringify({
        ...{ id: `c${n}`, type: 'request', action: 'task.plan.comments.create' },
        payload: { task_id, plan_id, id: randomUUID(), body: `comment ${n}`, ...about },
      }),
    );
    const { payload } = await to.notification('task.plan.comments.changed', n);
    times.push(performance.now() - started);
    expect(payload).toMatchObject({ plan_id, revision: n });
    expect(payload.comments).toHaveLength(n);
  }
  return times.sort((a, b) => a - b);
}

test('two servers and an MCP process: comments, an append of an agent and a statement in psql reach both', async () => {
  const { task, agent, plan, token } = await makePlan();
  const [one, two] = await Promise.all([startServe(), startServe()]);
  const [here, there] = [await subscribe(one.url, token, task), await subscribe(two.url, token, task)];
  const times = await timesOfComments(21, here, there, task, plan.plan_id);
  expect(times[10]).toBeLessThan(200);

  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [main, 'mcp'],
    env: { DATABASE_URL: db.url, PLANLEDGER_TOKEN: (await tokenFor(db, agent)).token },
  });
  const call = caller(await connectClient(transport, 'modern'));
  const started = performance.now();
  expect((await call('update', { task_id: task, mode: 'append', content: 'of the agent' })).isError).toBeFalsy();
  for (const socket of [here, there]) {
    expect((await socket.notification('task.plan.updated')).payload.content).toBe('start\n\nof the agent');
  }
  expect(performance.now() - started).toBeLessThan(1_500);

  const session = await (hasPsql() ? psqlSession : driverSession)(db.url);
  onTestFinished(session.close);
  expect(await session.run(`select * from planledger.plan_append('${agent}', '${task}', 'typed')`)).toBeUndefined();
  const typed = performance.now();
  for (const socket of [here, there]) {
    expect((await socket.notification('task.plan.updated', 2)).payload.content).toBe('start\n\nof the agent\n\ntyped');
  }
  expect(performance.now() - typed).toBeLessThan(1_500);
});

test('without hints, what one process commits is seen in another within a second and a half', async () => {
  const { task, plan, token } = await makePlan();
  const [one, two] = await Promise.all([startGateway('one', false), startGateway('two', false)]);
  const [here, there] = [await subscribe(one.address, token, task), await subscribe(two.address, token, task)];
  const times = await timesOfComments(6, here, there, task, plan.plan_id);
  expect(times.at(-1)).toBeLessThan(1_500);
});

test('2,000 random calls of 8 clients in 4 processes, listening connections killed: all end with what the database has', async () => {
  const { task, user, token } = await makePlan();
  const gateways = await Promise.all([startGateway('one', true), startGateway('two', true)]);
  const addresses = gateways.map(({ address }) => `${address.replace('http', 'ws')}/ws`);
  const clients = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const worker = startWorker('comment', { gateways: addresses, token, task, calls: 250 });
      await worker.until('ready');
      return worker;
    }),
  );
  for (const client of clients) client.tell('go');
  const done = Promise.all(clients.map((client) => client.until('done')));
  let killed = 0;
  for (let over = false; !over; ) {
    const rows = await db.admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'`;
    killed += rows.length;
    over = await Promise.race([done.then(() => true), delay(100, false)]);
  }
  expect(killed).toBeGreaterThan(4);

  const said = (event: string) => clients.flatMap((client) => client.of(event));
  const revisions = said('committed').map(({ revision }) => revision ?? 0);
  const present = await db.ledger.commentList({ principal: user, task_id: task });
  expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: present.revision }, (_, n) => n + 1));
  const refused = said('refused');
  expect(revisions.length + refused.length).toBe(2_000);
  expect(revisions.length).toBeGreaterThan(500);
  const allowed = ['plan_comments_changed', 'comment_limit_exceeded'];
  expect(refused.filter(({ code }) => !allowed.includes(code ?? ''))).toEqual([]);

  const expected = JSON.parse(JSON.stringify(present));
  for (const client of clients) {
    for (const index of [0, 1]) {
      const followed = () => client.of('followed').findLast((report) => report.client === index)?.snapshot;
      await expect.poll(followed, { timeout: 5_000 }).toEqual(expected);
    }
  }
  for (const process of [...clients, ...gateways]) process.tell('stop');
  expect(await Promise.all([...clients, ...gateways].map(({ ended }) => ended))).toEqual([0, 0, 0, 0, 0, 0]);
});

test('500 idle and 50 busy connections on one server: each request is answered, and everybody hears the last change', async () => {
  const { task, user, token } = await makePlan();
  const { url } = await startServe();
  const idle: Socket[] = [];
  for (let n = 0; n < 500; n += 50) {
    idle.push(...(await Promise.all(Array.from({ length: 50 }, () => subscribe(url, token, task)))));
  }
  const busy = await Promise.all(Array.from({ length: 50 }, () => openSocket(url, token)));
  const tasks = await Promise.all(busy.map(() => makePlan()));
  await Promise.all(
    busy.map(async (socket, index) => {
      const cast = tasks[index] as Cast;
      const mine = (await tokenFor(db, cast.user)).token;
      const own = await openSocket(url, mine);
      for (let n = 0; n < 20; n += 1) {
        const [got, written] = await Promise.all([
          socket.request('task.plan.get', { task_id: task }),
          own.request('task.plan.update', { task_id: cast.task, content: `text ${n}` }),
        ]);
        expect(got.payload.content).toBe('start');
        expect(written.payload.content).toBe(`text ${n}`);
      }
    }),
  );
  expect(idle.flatMap(({ frames }) => frames.filter(({ type }) => type === 'notification'))).toEqual([]);
  const { version } = await db.ledger.planAppend({ principal: user, task_id: task, fragment: 'last' });
  for (const socket of idle) {
    expect((await socket.notification('task.plan.updated')).payload.version).toBe(version);
  }
  const closed = idle.map(({ socket }) => once(socket, 'close'));
  for (const { socket } of idle) socket.close();
  await Promise.all(closed);
  expect(busy.every(({ socket }) => socket.readyState === WebSocket.OPEN)).toBe(true);
});

test('clients that stop reading are cut off, and the server does not grow by what they do not take', async () => {
  const { task, user, token } = await makePlan();
  const content = 'x'.repeat(250_000);
  await db.ledger.planReplace({ principal: user, task_id: task, content, policy: 'browser' });
  const { url, pid } = await startServe();
  const reader = await subscribe(url, token, task);
  await reader.request('task.plan.get', { task_id: task });
  const megabytes = () =>
    Number(spawnSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).stdout) / 1024;
  const before = megabytes();
  expect(before).toBeGreaterThan(10);
  let peak = before;

  // Ten clients ask for 2.5 GB in all.
  const stuck = await Promise.all(Array.from({ length: 10 }, () => subscribe(url, token, task)));
  for (const { socket } of stuck) {
    socket.pause();
    for (let n = 0; n < 1_000; n += 1) {
      socket.send(JSON.stringify({ id: n, type: 'request', action: 'task.plan.get', payload: { task_id: task } }));
    }
  }
  for (let sample = 0; sample < 50; sample += 1) {
    peak = Math.max(peak, megabytes());
    expect((await reader.request('task.plan.get', { task_id: task })).type).toBe('response');
    await delay(100);
  }
  expect(peak - before).toBeLessThan(600);
  for (const { socket } of stuck) socket.resume();
  expect(await Promise.all(stuck.map(({ closed }) => closed))).toEqual(stuck.map(() => 1006));
  for (const { frames } of stuck) expect(frames.length).toBeLessThan(500);
  console.log(
    peak,
    before,
    stuck.map((s) => s.frames.length),
  );
});
