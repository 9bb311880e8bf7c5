import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { holdPlanLock, untilWaiting } from './support/locks.ts';
import { startWorker, type Worker } from './support/processes.ts';
import { acpRecorder } from './support/recording.ts';

const db = useDatabase();
let folder: string;

// Marking a receipt waits while a test holds the plan lock of `marks`.
beforeAll(async () => {
  await db.admin.unsafe(`
    create function hold_marks() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(planledger.lock_key('plan', 'marks'));
      return new;
    end $$;
    create trigger hold_marks before update on planledger.receipts for each row
      when (new.state = 'attempted' and old.state = 'reserved') execute function hold_marks()`);
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'planledger-frozen-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

const until = (what: () => Promise<unknown>) => vi.waitFor(what, { timeout: 20_000, interval: 20 });
const file = (name: string) => path.join(folder, name);

/** What the agents of one worker recorded. */
async function recorded(worker: 'first' | 'second') {
  const text = await readFile(file(worker), 'utf8').catch(() => '');
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as { prompt?: string; started?: number });
}
const promptsOf = async (worker: 'first' | 'second') => (await recorded(worker)).flatMap(({ prompt }) => prompt ?? []);

/** A session that waits for a prompt, and a worker that will be frozen. */
async function setting(env: Record<string, string> = {}) {
  const { user: principal, task: task_id } = await makeCast(db);
  const on = { principal, task_id, session_id: 's' };
  await db.ledger.sessionCreate({ ...on, name: 's', agent_name: 'agent', transport: 'acp' });
  await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  const first = await start('first', env);
  const pid = first.of('ready')[0]?.pid ?? 0;
  const send = async (content: string) =>
    (await db.ledger.messageAdd({ ...on, client_message_id: randomUUID(), content })).id;
  const is = (id: string, state: string) =>
    until(async () =>
      expect((await db.admin`select state from planledger.receipts where id = ${id}`)[0]).toEqual({ state }),
    );
  const waits = () =>
    until(async () =>
      expect(await db.ledger.sessionList(on)).toContainEqual(
        expect.objectContaining({ id: 's', state: 'WAITING_FOR_INPUT' }),
      ),
    );
  const everything = async () => [
    await db.admin`select * from planledger.receipts where task_id = ${task_id} order by id`,
    await db.admin`select * from planledger.session_messages where task_id = ${task_id} order by position`,
    await db.admin`select * from planledger.task_sessions where task_id = ${task_id} order by id`,
    await db.admin`select holder, lease_token, started_at from planledger.session_agents where task_id = ${task_id}`,
  ];
  const said = async () =>
    (await db.ledger.messageList(on)).filter(({ role }) => role === 'agent').map(({ content }) => content);

  /** Has the leases of the frozen worker end, as they do by the clock in a minute or two, and another worker come. */
  async function takeOver(): Promise<Worker> {
    await db.admin`
      update planledger.receipts set lease_expires_at = clock_timestamp() - interval '1 second'
      where state in ('reserved', 'attempted') and lease_holder like ${`%/${pid}/%`}`;
    await db.admin`
      update planledger.session_agents set lease_expires_at = clock_timestamp() - interval '1 second'
      where holder like ${`%/${pid}/%`}`;
    return await start('second');
  }

  /** Lets the frozen worker go on until it has said `word` and its agent is gone; nothing at all may change by it. */
  async function goOnInVain(word: RegExp): Promise<void> {
    await waits();
    const before = await everything();
    first.kill('SIGCONT');
    await until(async () =>
      expect(first.of('logged').map(({ msg, code, operation }) => [msg, code, operation].join(' '))).toContainEqual(
        expect.stringMatching(word),
      ),
    );
    const agents = (await recorded('first')).flatMap(({ started }) => started ?? []);
    expect(agents).toHaveLength(1);
    await until(async () => expect(() => process.kill(agents[0] ?? 0, 0)).toThrow('ESRCH'));
    expect(await everything()).toEqual(before);
  }

  return { first, send, is, said, takeOver, goOnInVain };
}

async function start(name: 'first' | 'second', env: Record<string, string> = {}): Promise<Worker> {
  const worker = startWorker('deliver', {
    url: db.url,
    agents: { agent: acpRecorder(file(name), env) },
    level: 'debug',
  });
  await worker.until('ready');
  return worker;
}

async function stop(...workers: Worker[]): Promise<void> {
  for (const worker of workers) worker.tell('stop');
  expect(await Promise.all(workers.map(({ ended }) => ended))).toEqual(workers.map(() => 0));
}

const lost = /deliver_receipt.*lease/s;

test.each([
  ['mark and send', 'go'],
  ['release', 'exit'],
])(
  'frozen while it prepares, past its lease: it cannot %s, and the other worker sends the prompt once',
  async (_, word) => {
    const { first, send, is, said, takeOver, goOnInVain } = await setting({ START: file('gate') });
    const id = await send('go');
    await until(async () => expect(await recorded('first')).toHaveLength(1));
    await is(id, 'reserved');
    first.kill('SIGSTOP');
    const second = await takeOver();
    await is(id, 'acknowledged');
    await writeFile(file('gate'), word);
    await goOnInVain(lost);
    expect([await promptsOf('first'), await promptsOf('second')]).toEqual([[], ['go']]);
    expect(await said()).toEqual(['I have it.']);
    await stop(first, second);
  },
);

test('frozen between the marker and sending, past a minute: it does not send, and the prompt stays cleared', async () => {
  const { first, send, is, said, takeOver, goOnInVain } = await setting();
  const release = await holdPlanLock(db.admin, 'marks');
  const id = await send('go');
  await untilWaiting(db.admin, 'planledger worker');
  first.kill('SIGSTOP');
  await release();
  await is(id, 'attempted');
  const second = await takeOver();
  await is(id, 'cleared');
  await is(await send('next'), 'acknowledged');
  // The worker has nothing but its own clock to know this by, so that it has to pass.
  await vi.waitFor(
    async () => {
      const [row] = await db.admin`
        select clock_timestamp() > attempted_at + interval '60 seconds' as past from planledger.receipts where id = ${id}`;
      expect(row).toEqual({ past: true });
    },
    { timeout: 70_000, interval: 500 },
  );
  await goOnInVain(lost);
  expect(first.of('logged')).toContainEqual(expect.objectContaining({ msg: 'sent', outcome: 'unknown' }));
  await is(id, 'cleared');
  expect([await promptsOf('first'), await promptsOf('second')]).toEqual([[], ['next']]);
  expect(await said()).toEqual(['I have it.']);
  await stop(first, second);
}, 150_000);

test('frozen after sending, past its lease: it cannot acknowledge nor speak for the agent, and the prompt stays cleared', async () => {
  const { first, send, is, said, takeOver, goOnInVain } = await setting({ ANSWER: file('gate') });
  const id = await send('hold');
  await until(async () => expect(await promptsOf('first')).toEqual(['hold']));
  first.kill('SIGSTOP');
  const second = await takeOver();
  await is(id, 'cleared');
  await is(await send('next'), 'acknowledged');
  await writeFile(file('gate'), 'go');
  await goOnInVain(lost);
  expect([await promptsOf('first'), await promptsOf('second')]).toEqual([['hold'], ['next']]);
  expect(await said()).toEqual(['I have it.']);
  await stop(first, second);
});

test('frozen while the agent works, past its lease: it can neither speak for the agent nor keep it', async () => {
  const { first, send, is, said, takeOver, goOnInVain } = await setting();
  const id = await send('wait');
  await is(id, 'acknowledged');
  first.kill('SIGSTOP');
  const second = await takeOver();
  await until(async () => await is(await send('next'), 'acknowledged'));
  await goOnInVain(/lease_lost say/);
  await is(id, 'acknowledged');
  expect([await promptsOf('first'), await promptsOf('second')]).toEqual([['wait'], ['next']]);
  expect(await said()).toEqual(['I have it.']);
  await stop(first, second);
});
