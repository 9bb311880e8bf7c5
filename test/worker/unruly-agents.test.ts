import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { AgentEntry } from '../../src/transports/agents-file.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { makeSession } from '../sql/deliveries.ts';
import { useDatabase } from '../support/fixture.ts';

const db = useDatabase();
const workers: Worker[] = [];
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'planledger-agent-'));
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
  await rm(folder, { recursive: true });
});

const until = (what: () => Promise<unknown>) => vi.waitFor(what, { timeout: 20_000, interval: 20 });

function start(agents: Record<string, AgentEntry>): Worker {
  const worker = startWorker({
    ...{ databaseUrl: db.url, logger: pino({ level: 'silent' }), agents: new Map(Object.entries(agents)) },
  });
  workers.push(worker);
  return worker;
}

const recorder = (env: Record<string, string> = {}): AgentEntry => ({
  ...{ transport: 'acp', command: process.execPath, args: [path.join(import.meta.dirname, 'acp-agent.ts')], cwd: '.' },
  ...{ env: { RECORD: path.join(folder, 'record'), ...env }, permissions: 'reject', mcp_servers: [] },
});

const prompts = async () =>
  (await readFile(path.join(folder, 'record'), 'utf8'))
    .trimEnd()
    .split('\n')
    .flatMap((line) => JSON.parse(line).prompt ?? []);

/** A session with the recording agent, which waits for a prompt. */
async function talking() {
  const made = await makeSession(db, 'acp');
  const worker = start({ claude: recorder() });
  await until(async () => expect(await made.session()).toMatchObject({ state: 'WAITING_FOR_INPUT' }));
  return { ...made, worker };
}

test.each([
  ['answers with nothing', 'null'],
  ['closes its output and lives on', 'closed'],
])(
  'an agent that %s ends its turn with its process, and the next prompt has another',
  async (_, text) => {
    const { queue, session } = await talking();
    await queue('1', text);
    await queue('2', 'after');
    await until(async () => expect(await prompts()).toEqual([text, 'after']));
    await until(async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' }));
  },
  40_000,
);

test('what an agent says before a pause is in the transcript while it pauses', async () => {
  const { send, transcript } = await talking();
  await send('m', 'wait');
  await until(async () => expect((await transcript()).map(({ content }) => content)).toEqual(['wait', 'I have it.']));
});

test('of an agent that talks without end a bounded part is kept, and the next turn has room again', async () => {
  const { queue, session, transcript } = await talking();
  await queue('1', 'flood');
  await queue('2', 'after');
  await until(async () => expect(await prompts()).toEqual(['flood', 'after']));
  await until(async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' }));
  const [{ count, cut, last }] = (await db.admin`
    select count(*)::int, count(*) filter (where content like '[The agent says more%')::int as cut,
      (array_agg(content::text order by position desc))[1] as last
    from planledger.session_messages where role = 'agent'`) as unknown as [
    { count: number; cut: number; last: string },
  ];
  expect(count).toBeGreaterThan(1_500);
  expect(count).toBeLessThan(2_100);
  expect([cut, last]).toEqual([1, 'I have it.']);
  expect((await transcript()).length).toBeGreaterThan(0);
}, 60_000);

test('a turn that is to be cancelled before its prompt is there is cancelled once it is', async () => {
  const { send, queue, on, session } = await talking();
  for (let round = 0; round < 4; round += 1) {
    await send(`m${round}`, 'wait');
    const id = await queue(`q${round}`, 'now');
    await db.ledger.queueSendNow({ ...on, entry_ids: [id] });
    await until(async () => expect(await prompts()).toHaveLength(2 * (round + 1)));
    await until(async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' }));
  }
  expect(await prompts()).toEqual(Array(4).fill(['wait', 'now']).flat());
}, 60_000);

test('an agent that misses the request to cancel its turn is asked again', async () => {
  const { send, queue, on, session } = await talking();
  await send('m', 'wait for two');
  await until(async () => expect(await prompts()).toHaveLength(1));
  const id = await queue('q', 'now');
  await db.ledger.queueSendNow({ ...on, entry_ids: [id] });
  await until(async () => expect(await prompts()).toEqual(['wait for two', 'now']));
  await until(async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' }));
});

test('a worker that cannot prepare an agent keeps no lease on it, and another has it', async () => {
  const made = await makeSession(db, 'acp', 'WAITING_FOR_INPUT');
  const unable = start({});
  const id = await made.send('m', 'hello');
  await until(async () => expect(await made.receipt(id)).toMatchObject({ state: 'pending', attempts: 1 }));
  await until(async () => expect(await made.lease()).toBeUndefined());
  await unable.close();
  workers.splice(workers.indexOf(unable), 1);
  start({ claude: recorder() });
  await until(async () => expect(await prompts()).toEqual(['hello']));
});

/** A server that does something else than a webhook does. */
async function serving(serve: (socket: Socket) => void): Promise<AgentEntry> {
  process.env.PLANLEDGER_HOOK_SECRET = 'secret';
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { transport: 'webhook', url: `http://127.0.0.1:${port}/`, secret_env: 'PLANLEDGER_HOOK_SECRET' };
}

test.each<[what: string, serve: (socket: Socket) => void, state: string]>([
  ['closes at once', (socket) => socket.end(), 'cleared'],
  ['breaks off at once', (socket) => socket.destroy(), 'cleared'],
  ['resets at once', (socket) => socket.resetAndDestroy(), 'cleared'],
  ['closes when it has read something', (socket) => socket.once('data', () => socket.end()), 'cleared'],
  [
    'wants to speak something else',
    (socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      ),
    'failed',
  ],
])('a webhook that %s never keeps a worker', async (_, serve, state) => {
  const made = await makeSession(db, 'webhook');
  start({ claude: await serving(serve) });
  const id = await made.send();
  await until(async () => {
    const { state: now, attempts } = await made.receipt(id);
    expect(now === state || (now === 'pending' && attempts > 0), `${now} ${attempts}`).toBe(true);
  });
  await until(async () =>
    expect(await made.session()).toMatchObject({ state: expect.stringMatching(/WAITING|RUNNING/) }),
  );
});
