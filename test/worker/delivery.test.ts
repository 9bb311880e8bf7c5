import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { access, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { AcpEntry, AgentEntry } from '../../src/transports/agents-file.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { holdPlanLock } from '../chaos/support/locks.ts';
import { canary } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { startCli } from '../surfaces/cli/process.ts';

const db = useDatabase();
const workers: Worker[] = [];
let record: string;
let log: string[];

beforeEach(async () => {
  record = path.join(await mkdtemp(path.join(tmpdir(), 'planledger-agent-')), 'record');
  log = [];
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});

function start(entries: Record<string, AgentEntry>): Worker {
  const logger = pino({ level: 'debug' }, { write: (line: string) => void log.push(line) });
  const worker = startWorker({ databaseUrl: db.url, logger, agents: new Map(Object.entries(entries)) });
  workers.push(worker);
  return worker;
}

const recorder = (): AgentEntry => ({
  transport: 'acp',
  command: process.execPath,
  args: [path.join(import.meta.dirname, 'acp-agent.ts')],
  cwd: '.',
  env: { RECORD: record },
  permissions: 'reject',
  mcp_servers: [],
});

async function setting(transport: string, agent_name: string) {
  const { user: principal, task: task_id } = await makeCast(db);
  const by = { principal, task_id };
  const on = { ...by, session_id: 's' };
  await db.ledger.sessionCreate({ ...by, name: 's', session_id: 's', agent_name, transport, is_primary: true });
  const session = async () => (await db.ledger.sessionList(by)).find(({ id }) => id === 's');
  const waits = async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: null });
  const receipt = async (id: string) =>
    (await db.admin`select state, attempts, failure from planledger.receipt_status where id = ${id}`)[0];
  return { on, session, waits, receipt };
}

const until = (what: () => Promise<unknown>) => vi.waitFor(what, { timeout: 20_000, interval: 20 });
const recorded = async () =>
  (await readFile(record, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const prompts = async () => (await recorded()).flatMap(({ prompt }) => prompt ?? []);

test('a real ACP agent gets the exact prompts, one after another, and says into the transcript', async () => {
  const { on, waits, receipt } = await setting('acp', 'recorder');
  start({ recorder: recorder() });
  await until(waits);
  const odd = '# Titel\r\n\r\n  ünïcode 🦜 `x`\tend\n\n';
  const large = `${'lörem ipsum\n'.repeat(16_000)}end`;
  const first = await db.ledger.messageAdd({ ...on, client_message_id: '1', content: odd });
  await db.ledger.queueAdd({ ...on, client_queue_id: '2', content: large });
  await db.ledger.queueAdd({ ...on, client_queue_id: '3', content: 'last' });
  await until(async () => expect(await prompts()).toHaveLength(3));
  await until(waits);
  expect(await prompts()).toEqual([odd, large, 'last']);
  expect(await receipt(first.id)).toEqual({ state: 'acknowledged', attempts: 1, failure: null });
  const messages = await db.ledger.messageList(on);
  expect(messages.map(({ role, kind, content }) => [role, kind, content])).toEqual(
    [odd, large, 'last'].flatMap((text) => [
      ['user', 'message', text],
      ['agent', 'message', 'I have it.'],
    ]),
  );
  expect((await recorded()).filter(({ started }) => started)).toHaveLength(1);
  for (const line of log) expect(line).not.toMatch(/Titel|ipsum|last|I have/);
});

test.each([
  ['that takes files', '{"image":true,"embeddedContext":true}'],
  ['that takes links only', '{}'],
])('an agent %s gets those of a prompt, byte for byte and in order', async (_, takes) => {
  const { on, waits, receipt } = await setting('acp', 'recorder');
  const agent = recorder();
  start({ recorder: { ...agent, env: { RECORD: record, TAKES: takes } } as AgentEntry });
  await until(waits);
  const [image, binary] = [randomBytes(100_000), randomBytes(1_000)];
  const stage = async (name: string, media_type: string, content: Uint8Array) =>
    (await db.ledger.attachmentStage({ ...on, name, media_type, content })).id;
  const attachments = [
    await stage('Bild 🦜.png', 'image/png', image),
    await stage('notes 100%.md', 'text/markdown', Buffer.from('# Größe\r\n')),
    await stage('data', 'application/x-data', binary),
  ];
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'look', attachments });
  await until(async () => expect(await receipt(id)).toMatchObject({ state: 'acknowledged' }));
  await until(waits);
  const base64 = (content: Buffer) => content.toString('base64');
  const blocks = (await recorded()).flatMap(({ block }) => block ?? []);
  if (takes === '{}') {
    const about = (name: string, mimeType: string, content: Buffer) => ({
      type: 'resource_link',
      name,
      mimeType,
      size: content.length,
      linked: base64(content),
    });
    expect(blocks).toMatchObject([
      about('Bild 🦜.png', 'image/png', image),
      about('notes 100%.md', 'text/markdown', Buffer.from('# Größe\r\n')),
      about('data', 'application/x-data', binary),
    ]);
    await Promise.all(workers.splice(0).map((worker) => worker.close()));
    for (const { uri } of blocks) await expect(access(new URL(uri))).rejects.toThrow('ENOENT');
    return;
  }
  const uri = (at: number, name: string) => `attachment:${attachments[at]}/${encodeURIComponent(name)}`;
  expect(blocks).toEqual([
    { type: 'image', mimeType: 'image/png', data: base64(image) },
    { type: 'resource', resource: { uri: uri(1, 'notes 100%.md'), mimeType: 'text/markdown', text: '# Größe\r\n' } },
    { type: 'resource', resource: { uri: uri(2, 'data'), mimeType: 'application/x-data', blob: base64(binary) } },
  ]);
});

test('what an agent refuses fails, an agent that exits ends its turn, and the next prompt has another one', async () => {
  const { on, session, waits, receipt } = await setting('acp', 'recorder');
  start({ recorder: recorder() });
  await until(waits);
  const refused = await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'refuse' });
  await until(async () => expect(await receipt(refused.id)).toMatchObject({ state: 'failed' }));
  expect(await session()).toMatchObject({
    state: 'WAITING_FOR_INPUT',
    failure: expect.stringMatching(/^The agent refused the prompt: /),
  });
  await db.ledger.messageAdd({ ...on, client_message_id: '2', content: 'exit' });
  await until(async () =>
    expect(await session()).toMatchObject({
      state: 'WAITING_FOR_INPUT',
      failure: expect.stringMatching(/^The agent's process ended with exit code 3/),
    }),
  );
  await db.ledger.messageAdd({ ...on, client_message_id: '3', content: 'again' });
  await until(async () => expect(await prompts()).toEqual(['refuse', 'exit', 'again']));
  expect((await recorded()).filter(({ started }) => started)).toHaveLength(2);
});

test('sending now cancels the turn, and goes out before the rest of the queue', async () => {
  const { on, waits } = await setting('acp', 'recorder');
  start({ recorder: recorder() });
  await until(waits);
  await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'wait' });
  await until(async () => expect(await prompts()).toEqual(['wait']));
  const add = (n: string) => db.ledger.queueAdd({ ...on, client_queue_id: n, content: n });
  await add('a');
  const [b, c] = [await add('b'), await add('c')];
  await db.ledger.queueSendNow({ ...on, entry_ids: [c.id, b.id] });
  await until(async () => expect(await prompts()).toEqual(['wait', 'c\n\nb', 'a']));
  await until(waits);
});

test('an agent that ends leaves nothing behind, and what it started does not keep its session', async () => {
  const { on, waits, session } = await setting('acp', 'recorder');
  const worker = start({ recorder: recorder() });
  await until(waits);
  await db.ledger.queueAdd({ ...on, client_queue_id: '1', content: 'fork' });
  await db.ledger.queueAdd({ ...on, client_queue_id: '2', content: 'after' });
  await until(async () => expect(await prompts()).toEqual(['fork', 'after']));
  await until(async () => expect((await session())?.state).toBe('WAITING_FOR_INPUT'));
  const pids = (await recorded()).flatMap(({ started, forked }) => started ?? forked ?? []);
  expect(pids).toHaveLength(3);
  await worker.close();
  for (const pid of pids) await until(async () => expect(() => process.kill(pid, 0)).toThrow());
});

test.each([
  ['is not there', { command: 'no-such-program' }, 'no-such-program'],
  ['is to work in a folder that is not there', { cwd: '/no/such/folder' }, '/no/such/folder'],
  ['does not speak the protocol', { command: '/bin/echo', args: ['hello'] }, 'exit code 0'],
  [
    'says why it ends',
    { command: '/bin/sh', args: ['-c', 'echo boom: no key >&2; exit 3'] },
    'exit code 3: boom: no key',
  ],
])('an agent whose program %s is tried again later, and its session says why', async (_, change, why) => {
  const { on, session } = await setting('acp', 'recorder');
  start({ recorder: { ...recorder(), ...change } as AgentEntry });
  await until(async () =>
    expect(await session()).toMatchObject({ state: 'STARTING', failure: expect.stringContaining(why) }),
  );
  const [left] = await db.admin`select count(*)::int as n from planledger.session_agents where task_id = ${on.task_id}`;
  expect(left).toEqual({ n: 0 });
  await db.admin`update planledger.task_sessions set start_attempts = 4 where task_id = ${on.task_id}`;
  await db.admin`select planledger_jobs.add_job('start_agent', json_build_object('task_id', ${on.task_id}::text, 'session_id', 's'))`;
  await until(async () =>
    expect(await session()).toMatchObject({ state: 'FAILED', failure: expect.stringContaining(why) }),
  );
});

test('an agent ends with its worker, though that is killed and the agent listens to nobody', async () => {
  const { on, waits } = await setting('acp', 'recorder');
  const file = path.join(path.dirname(record), 'agents.json');
  const { cwd: _, ...entry } = recorder() as AcpEntry;
  await writeFile(file, JSON.stringify({ agents: { recorder: entry } }));
  const running = startCli(['worker', '--agents', file], { env: { DATABASE_URL: db.url } });
  await until(waits);
  await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'deaf' });
  await until(async () => expect(await prompts()).toEqual(['deaf']));
  running.child.kill('SIGKILL');
  await running.ended;
  const [{ started: pid }] = await recorded();
  await until(async () => expect(() => process.kill(pid, 0)).toThrow());
});

test('a worker stops at once, though an agent is starting', async () => {
  const { on } = await setting('acp', 'recorder');
  const agent = recorder();
  const never = path.join(path.dirname(record), 'never');
  const worker = start({ recorder: { ...agent, env: { RECORD: record, START: never } } as AgentEntry });
  await until(async () => expect(await recorded()).toMatchObject([{ started: expect.any(Number) }]));
  const began = performance.now();
  await worker.close();
  expect(performance.now() - began).toBeLessThan(8_000);
  const [left] = await db.admin`select count(*)::int as n from planledger.session_agents where task_id = ${on.task_id}`;
  expect(left).toEqual({ n: 0 });
});

test('whatever goes wrong, a worker’s log names tasks, sessions and receipts, and repeats no text', async () => {
  const { on, session, receipt } = await setting('acp', 'recorder');
  const webhook = { ...on, session_id: 'hook' };
  await db.ledger.sessionCreate({ ...webhook, name: canary, agent_name: canary, transport: 'webhook' });
  start({ recorder: recorder() });
  await until(async () => expect((await session())?.state).toBe('WAITING_FOR_INPUT'));
  const texts = [`shout ${canary}`, `shout exit ${canary}`, `refuse`, canary];
  for (const [at, content] of texts.entries()) {
    await db.ledger.queueAdd({ ...on, client_queue_id: `${at}`, content });
  }
  const stuck = await db.ledger.messageAdd({ ...webhook, client_message_id: canary, content: canary });
  await until(async () => expect(await prompts()).toEqual(texts));
  await until(async () => expect(await receipt(stuck.id)).toMatchObject({ failure: expect.stringContaining(canary) }));
  await until(async () => expect((await session())?.state).toBe('WAITING_FOR_INPUT'));
  const said = log.join('');
  expect(said).toContain(on.task_id);
  expect(said).toContain(stuck.id);
  expect(said).not.toContain(canary);
});

test('a prompt that asks for a plan is sent in the agent’s mode for that, and the next in the one before', async () => {
  const { on, waits } = await setting('acp', 'recorder');
  const mode = (id: string) => ({ id, name: id });
  const OPENS = JSON.stringify({ modes: { currentModeId: 'code', availableModes: [mode('code'), mode('plan')] } });
  start({ recorder: { ...recorder(), env: { RECORD: record, OPENS } } as AgentEntry });
  await until(waits);
  await db.ledger.queueAutoRunSet({ ...on, auto_run: false });
  for (const [at, plan_mode] of [false, true, true, false].entries()) {
    await db.ledger.queueAdd({ ...on, client_queue_id: `${at}`, content: `${at}`, plan_mode });
  }
  await db.ledger.queueAutoRunSet({ ...on, auto_run: true });
  await until(async () => expect(await prompts()).toHaveLength(4));
  const kept = (await recorded()).flatMap(({ mode, prompt }) => mode ?? prompt ?? []);
  expect(kept).toEqual(['0', 'plan', '1', '2', 'code', '3']);
  await until(waits);
});

test('a session waits for the next prompt only once the last words of its agent are written', async () => {
  const { on, session, waits } = await setting('acp', 'recorder');
  start({ recorder: recorder() });
  await until(waits);
  await db.admin.unsafe(`
    create function hold_words() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(planledger.lock_key('plan', 'words'));
      return new;
    end $$;
    create trigger hold_words before insert on planledger.session_messages for each row
      when (new.role = 'agent') execute function hold_words()`);
  const release = await holdPlanLock(db.admin, 'words');
  await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'one' });
  await db.ledger.queueAdd({ ...on, client_queue_id: '2', content: 'two' });
  // Its words wait, and behind them perhaps the acknowledgement.
  await until(async () => {
    const waiting = await db.admin`
      select from pg_stat_activity
      where datname = current_database() and application_name = 'planledger worker' and wait_event = 'advisory'`;
    expect(waiting.length).toBeGreaterThan(0);
  });
  expect(await session()).toMatchObject({ state: 'RUNNING' });
  expect(await prompts()).toEqual(['one']);
  await release();
  await until(async () => expect(await prompts()).toEqual(['one', 'two']));
  await until(waits);
  expect((await db.ledger.messageList(on)).map(({ content }) => content)).toEqual([
    ...['one', 'I have it.', 'two', 'I have it.'],
  ]);
  await db.admin.unsafe('drop function hold_words cascade');
});

test('two workers run one agent for a session, and the other takes over when its worker stops', async () => {
  const { on, waits } = await setting('acp', 'recorder');
  const pair = [start({ recorder: recorder() }), start({ recorder: recorder() })];
  await until(waits);
  for (let n = 0; n < 10; n += 1) {
    await db.ledger.messageAdd({ ...on, client_message_id: String(n), content: String(n) });
    await until(waits);
  }
  expect((await recorded()).filter(({ started }) => started)).toHaveLength(1);
  await pair[0]?.close();
  workers.splice(workers.indexOf(pair[0] as Worker), 1);
  await db.ledger.messageAdd({ ...on, client_message_id: 'x', content: 'x' });
  await until(async () => expect((await prompts()).at(-1)).toBe('x'));
  await until(waits);
  expect(await prompts()).toHaveLength(11);
});

test('an agent that cannot be started says so, is tried again, and fails its session at last', async () => {
  const { session } = await setting('acp', 'nobody');
  start({});
  await until(async () =>
    expect(await session()).toMatchObject({
      state: 'STARTING',
      failure: 'The worker knows no agent of the name nobody; its file of agents (--agents) names them.',
    }),
  );
  await db.admin`update planledger.task_sessions set start_attempts = 4`;
  await until(async () => expect(await session()).toMatchObject({ state: 'FAILED', accepts: 'nothing' }));
});

test('a webhook gets the prompt signed and with its id; a refused connection is tried again, another status is not', async () => {
  process.env.PLANLEDGER_HOOK_SECRET = 'secret';
  const got: { headers: Record<string, unknown>; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = (await buffer(request)).toString();
    got.push({ headers: request.headers, body });
    response.statusCode = JSON.parse(body).content === 'no' ? 422 : 204;
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { on, session, waits, receipt } = await setting('webhook', 'hook');
  start({ hook: { transport: 'webhook', url: `http://127.0.0.1:${port}/x`, secret_env: 'PLANLEDGER_HOOK_SECRET' } });
  await waits();
  const content = randomBytes(10 * 1_048_576);
  const file = { name: 'größe', media_type: 'application/x-data' };
  const { id: staged } = await db.ledger.attachmentStage({ ...on, ...file, content });
  const message = { client_message_id: '1', content: 'ja\r\n🦜', attachments: [staged] };
  const { id } = await db.ledger.messageAdd({ ...on, ...message });
  await until(async () => expect(await receipt(id)).toMatchObject({ state: 'acknowledged' }));
  await waits();
  const [{ headers, body }] = got as [(typeof got)[0]];
  expect(JSON.parse(body)).toMatchObject({ id, content: 'ja\r\n🦜', session_id: 's', plan_mode: false });
  expect(JSON.parse(body).attachments).toEqual([{ id: staged, ...file, content: content.toString('base64') }]);
  expect(headers).toMatchObject({ 'idempotency-key': id, 'webhook-id': id });
  const signed = `${id}.${headers['webhook-timestamp']}.${body}`;
  expect(headers['webhook-signature']).toBe(`v1,${createHmac('sha256', 'secret').update(signed).digest('base64')}`);

  const no = await db.ledger.messageAdd({ ...on, client_message_id: '2', content: 'no' });
  await until(async () => expect(await receipt(no.id)).toMatchObject({ state: 'failed' }));
  server.close();
  server.closeAllConnections();
  const gone = await db.ledger.messageAdd({ ...on, client_message_id: '3', content: 'x' });
  await until(async () =>
    expect(await receipt(gone.id)).toMatchObject({
      state: 'pending',
      failure: expect.stringMatching(/cannot be connected/),
    }),
  );
  expect(await session()).toMatchObject({ state: 'RUNNING' });
  expect(got).toHaveLength(2);
});
