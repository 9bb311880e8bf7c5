import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type PassthroughEntry, readAgents } from '../../src/transports/agents-file.ts';
import { startPassthroughAgent } from '../../src/transports/passthrough.ts';
import type { Agent, Prompt } from '../../src/transports/transport.ts';
import { startWorker, type Worker } from '../../src/worker/worker.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();
const workers: Worker[] = [];
const alone: Agent[] = [];
let record: string;

beforeEach(async () => {
  record = path.join(await mkdtemp(path.join(tmpdir(), 'planledger-agent-')), 'record');
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
  await Promise.all(alone.splice(0).map((agent) => agent.stop()));
});

function start(entry: PassthroughEntry): Worker {
  const agents = new Map([['terminal', entry]]);
  const worker = startWorker({ databaseUrl: db.url, logger: pino({ level: 'silent' }), agents });
  workers.push(worker);
  return worker;
}

const terminal = (env: Record<string, string> = {}): PassthroughEntry => ({
  transport: 'passthrough',
  command: process.execPath,
  args: [path.join(import.meta.dirname, 'terminal-agent.ts')],
  cwd: '.',
  env: { RECORD: record, ...env },
  ready: 'ready> ',
  quiet_ms: 300,
});

/** An agent without a worker, and what it says. */
async function run(entry: PassthroughEntry) {
  const said: string[] = [];
  const agent = await startPassthroughAgent(
    entry,
    (kind, content) => void said.push(`${kind}: ${content}`),
    new AbortController().signal,
  );
  alone.push(agent);
  return { agent, said };
}

const promptOf = (content: string): Prompt => ({
  ...{ taskId: 't', sessionId: 's', id: 'p', content },
  ...{ planMode: false, attachments: [] },
});

async function setting() {
  const { user: principal, task: task_id } = await makeCast(db);
  const by = { principal, task_id };
  const on = { ...by, session_id: 's' };
  const of = { name: 's', session_id: 's', agent_name: 'terminal', transport: 'passthrough', is_primary: true };
  await db.ledger.sessionCreate({ ...by, ...of });
  const session = async () => (await db.ledger.sessionList(by)).find(({ id }) => id === 's');
  const waits = async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure: null });
  const receipt = async (id: string) =>
    (await db.admin`select state, attempts, failure from planledger.receipt_status where id = ${id}`)[0];
  const transcript = () => db.ledger.messageList(on);
  const shown = async () =>
    (await transcript()).map(({ kind, content }) => (kind === 'terminal' ? content : '')).join('');
  return { on, session, waits, receipt, transcript, shown };
}

const until = (what: () => Promise<unknown>) => vi.waitFor(what, { timeout: 40_000, interval: 20 });
const recorded = async () =>
  (await readFile(record, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const pids = async (): Promise<number[]> => (await recorded()).flatMap(({ started }) => started ?? []);
/** What the program read for each prompt, byte for byte. */
const submitted = async (): Promise<string[]> =>
  (await recorded()).flatMap(({ submitted: bytes }) => (bytes ? Buffer.from(bytes, 'base64').toString() : []));
const pasted = (text: string) => `\x1b[200~${text}\x1b[201~\r`;
const lives = (pid: number) => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const odd = '# Titel\n\n  ünïcode 🦜 e\u0301 \u200b\u2028 `x`\tend\n\n';
const ofBytes = (bytes: number) => {
  const text = odd.repeat(Math.floor(bytes / Buffer.byteLength(odd)));
  return text + 'x'.repeat(bytes - Buffer.byteLength(text));
};

test('a terminal program gets the exact prompts, each submitted once, one after another, and is seen', async () => {
  const { on, waits, receipt, transcript, shown } = await setting();
  start(terminal());
  await until(waits);
  const prompts = [odd, ofBytes(200_000), ofBytes(1_048_576), 'last'];
  const first = await db.ledger.messageAdd({ ...on, client_message_id: '1', content: odd.replaceAll('\n', '\r\n') });
  for (const content of prompts.slice(1)) {
    await db.ledger.queueAdd({ ...on, client_queue_id: content.slice(-9), content });
  }
  await until(async () => expect(await submitted()).toHaveLength(4));
  await until(waits);
  expect(await submitted()).toEqual(prompts.map(pasted));
  expect(await receipt(first.id)).toEqual({ state: 'acknowledged', attempts: 1, failure: null });
  expect(await pids()).toHaveLength(1);
  await until(async () => expect((await shown()).match(/ready/g)).toHaveLength(5));
  for (const text of prompts) expect(await shown()).toContain(`I have ${[...text].length} characters 🦜.`);
  const said = await transcript();
  expect(said.flatMap(({ role, content }) => (role === 'user' ? content : []))).toEqual(prompts);
  expect(new Set(said.map(({ role, kind }) => `${role} ${kind}`))).toEqual(new Set(['user message', 'agent terminal']));
});

test('a prompt reaches a slow reader whole, and the worker is not held up by it', async () => {
  const { agent } = await run(terminal({ BATCH: '4096' }));
  let longest = 0;
  let last = performance.now();
  const ticking = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const content = ofBytes(1_048_576);
  const began = performance.now();
  const sent = await agent.send(promptOf(content));
  const took = performance.now() - began;
  clearInterval(ticking);
  expect(sent).toMatchObject({ outcome: 'accepted' });
  expect(took).toBeGreaterThan(200);
  expect(longest).toBeLessThan(took / 2);
  expect('turn' in sent && (await sent.turn)).toBe(undefined);
  expect(await submitted()).toEqual([pasted(content)]);
});

test('a program that ends in a turn ends the turn, its last words are seen, and the next prompt has another one', async () => {
  const { on, session, waits, receipt, shown } = await setting();
  start(terminal());
  await until(waits);
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'exit' });
  const failure = "The agent's program ended with exit code 3: going";
  await until(async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT', failure }));
  expect(await receipt(id)).toMatchObject({ state: 'acknowledged', attempts: 1 });
  expect(await shown()).toMatch(/I am\r\ngoing\r\n$/);
  await db.ledger.messageAdd({ ...on, client_message_id: '2', content: 'again' });
  await until(async () => expect(await submitted()).toEqual(['exit', 'again'].map(pasted)));
  await until(waits);
  expect(await pids()).toHaveLength(2);
});

test('what waits in the queue goes out when the program has ended in the turn before', async () => {
  const { on, waits, receipt } = await setting();
  start(terminal());
  await until(waits);
  await db.ledger.messageAdd({ ...on, client_message_id: '0', content: 'wait' });
  const ids: string[] = [];
  for (const content of ['exit', 'exit', 'exit', 'last']) {
    ids.push((await db.ledger.queueAdd({ ...on, client_queue_id: `q${ids.length}`, content })).id);
  }
  await until(async () => expect(await submitted()).toHaveLength(1));
  process.kill((await pids())[0] as number, 'SIGTERM');
  await until(async () => expect(await submitted()).toHaveLength(5));
  await until(waits);
  expect(await submitted()).toEqual(['wait', 'exit', 'exit', 'exit', 'last'].map(pasted));
  expect(await pids()).toHaveLength(5);
  for (const id of ids) expect(await receipt(id)).toEqual({ state: 'acknowledged', attempts: 1, failure: null });
});

test('a program that ends while it reads leaves the prompt unknown, and it is not sent again', async () => {
  const { on, session, waits, receipt } = await setting();
  start(terminal());
  await until(waits);
  const content = `die${ofBytes(1_000_000)}`;
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: '1', content });
  await until(async () =>
    expect(await receipt(id)).toMatchObject({
      state: 'cleared',
      attempts: 1,
      failure: expect.stringMatching(/^The agent's program ended with exit code 4/),
    }),
  );
  await until(async () => expect(await session()).toMatchObject({ state: 'WAITING_FOR_INPUT' }));
  await db.ledger.messageAdd({ ...on, client_message_id: '2', content: 'again' });
  await until(async () => expect(await submitted()).toEqual([pasted('again')]));
  expect(await receipt(id)).toMatchObject({ state: 'cleared', attempts: 1 });
});

test('a prompt for a program that does not show its own is given back, and goes out once it does', async () => {
  const { on, session, waits, receipt } = await setting();
  start(terminal());
  await until(waits);
  await writeFile(`${record}.mute`, '');
  process.kill((await pids())[0] as number, 'SIGKILL');
  await until(async () => expect((await session())?.failure).toMatch(/ended by SIGKILL/));
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: '1', content: 'hello' });
  await until(async () =>
    expect(await receipt(id)).toMatchObject({
      state: 'pending',
      attempts: 1,
      failure: "The agent's program did not wait for a prompt within 20 seconds.",
    }),
  );
  expect(await submitted()).toEqual([]);
  await rm(`${record}.mute`);
  await until(async () => expect(await receipt(id)).toMatchObject({ state: 'acknowledged' }));
  await until(waits);
  expect(await submitted()).toEqual([pasted('hello')]);
  expect((await pids()).filter(lives)).toHaveLength(1);
});

test('a worker that stops ends the program', async () => {
  const { waits } = await setting();
  const worker = start(terminal());
  await until(waits);
  const [pid = 0] = await pids();
  expect(lives(pid)).toBe(true);
  await worker.close();
  expect(lives(pid)).toBe(false);
});

test('what a program shows is kept up to a limit, in rows of whole characters, and the reader is told', async () => {
  const { agent, said } = await run(terminal());
  const sent = await agent.send(promptOf('much'));
  expect('turn' in sent && (await sent.turn)).toBe(undefined);
  const [first = '', ...rest] = said;
  expect(first).toContain('ready');
  const text = rest.map((row) => row.replace(/^terminal: /, '')).join('');
  expect(text).toMatch(/^(ü🦜\ufffd){400000}/);
  expect(text).toMatch(/ü🦜\ufffd\n\[The program shows more in this turn; .* are kept\.\]\n$/);
  for (const row of rest) expect(row.length).toBeLessThan(600_000);
  await agent.send(promptOf('again'));
  await until(async () => expect(said.at(-1)).toMatch(/^terminal: I have 5 characters/));
});

test.each([
  [{ command: '/nonexistent/program' }, /cannot be started: \/nonexistent\/program: No such file/],
  [{ cwd: '/nonexistent' }, /cannot be started: its folder: No such file/],
  [{ args: ['-e', 'console.log("no key"); process.exit(7)'] }, /ended with exit code 7: no key$/],
  [{ args: ['-e', 'process.kill(process.pid, "SIGKILL")'] }, /ended by SIGKILL\.$/],
])('a program that does not come up says why: %o', async (part, why) => {
  await expect(run({ ...terminal(), ...part })).rejects.toThrow(why);
});

test('a prompt for a program that has ended meanwhile is unknown, and not written', async () => {
  const { agent } = await run(terminal());
  process.kill((await pids())[0] as number, 'SIGKILL');
  await agent.ended;
  const failure = expect.stringMatching(/^The agent's program ended by SIGKILL/);
  expect(await agent.send(promptOf('late'))).toEqual({ outcome: 'unknown', failure });
  await expect(agent.waits?.()).rejects.toThrow(/ended by SIGKILL/);
  expect(await submitted()).toEqual([]);
});

test('a program that will not end is killed, and so is what it has started', async () => {
  const deaf = "for (const signal of ['SIGHUP', 'SIGTERM']) process.on(signal, () => {}); setInterval(() => {}, 1e6);";
  const child = `${deaf} console.log(process.pid); process.stdout.write('ready> ')`;
  const parent = `${deaf} require('node:child_process').spawn(process.execPath, ['-e', process.env.CHILD], { stdio: 'inherit' })`;
  const { agent, said } = await run({ ...terminal({ CHILD: child }), args: ['-e', parent] });
  await until(async () => expect(said.join('')).toMatch(/\d+/));
  const pid = Number(/\d+/.exec(said.join(''))?.[0]);
  expect(lives(pid)).toBe(true);
  await agent.stop();
  expect(await agent.ended).toMatch(/ended by SIGKILL/);
  await until(async () => expect(lives(pid)).toBe(false));
});

test('the file of agents has terminal programs, and a pattern that is none is refused', async () => {
  const file = path.join(path.dirname(record), 'agents.json');
  const write = (ready: string) =>
    writeFile(file, JSON.stringify({ agents: { a: { transport: 'passthrough', command: 'x', ready } } }));
  await write('> $');
  expect((await readAgents(file)).get('a')).toEqual({
    ...{ transport: 'passthrough', command: 'x', args: [], env: {} },
    ...{ cwd: path.dirname(file), ready: '> $', quiet_ms: 1_000 },
  });
  await write('(');
  await expect(readAgents(file)).rejects.toThrow(/agents\.a\.ready: is not a regular expression/);
});

test('without a pattern a program waits when it is quiet, and a shell gets its prompt', async () => {
  const folder = path.dirname(record);
  const { agent, said } = await run({
    ...terminal({ PS1: '$ ', HISTFILE: '/dev/null', FOLDER: folder }),
    ...{ command: '/bin/bash', args: ['--norc', '-i'], ready: undefined },
  });
  const sent = await agent.send(promptOf('printf "%s" "one\n🦜" > "$FOLDER/out"; echo $((6 * 7))'));
  expect('turn' in sent && (await sent.turn)).toBe(undefined);
  expect(await readFile(path.join(folder, 'out'), 'utf8')).toBe('one\n🦜');
  expect(said.join('')).toMatch(/42/);
  await agent.stop();
  expect(await agent.ended).toMatch(/^The agent's program ended by SIG/);
});
