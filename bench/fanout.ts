import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type Client, openClient } from '../src/client/index.ts';
import { createHinter, withHints } from '../src/events/hints.ts';
import { createLedger } from '../src/ledger/ledger.ts';
import { atMost, type Bench, latencies, median, percentile, type Result } from './bench.ts';

const subscribers = 50;
const task = 'fanout';

/**
 * An edited comment until each of 50 subscribers of a gateway in another process has the new snapshot, against a bare
 * row and a bare NOTIFY until a listening connection hears it.
 */
export async function fanout(bench: Bench): Promise<Record<string, Result>> {
  const gateway = await startGateway(bench.url);
  const { token } = await createLedger(bench.admin).tokenCreate({ principal: bench.user, name: 'fanout' });
  const clients = Array.from({ length: subscribers }, () => openClient({ url: gateway.url, token }));
  try {
    const count = bench.quick ? 40 : 150;
    const push = await editing(bench, clients);
    await push(10);
    const bare = await notifying(bench);
    await bare(10);
    const arrivals: number[] = [];
    const floor: number[] = [];
    // In turns, so that a drift of the machine's speed falls on both.
    for (let round = 0; round < 5; round += 1) {
      arrivals.push(...(await push(count / 5)));
      floor.push(...(await bare(count / 5)));
    }
    const [p50, p95] = [median(arrivals), percentile(arrivals, 0.95)];
    const [floor50, floor95] = [median(floor), percentile(floor, 0.95)];
    const note = (at: number, bareAt: number) =>
      `${at.toFixed(1)} ms to each of ${subscribers} subscribers, ${bareAt.toFixed(1)} ms for a bare row and NOTIFY`;
    return {
      fanout_p50: atMost(p50 / floor50, 10, `${note(p50, floor50)}, p50`),
      fanout_p95: atMost(p95 / floor95, 10, `${note(p95, floor95)}, p95`),
    };
  } finally {
    for (const client of clients) client.close();
    await gateway.stop();
  }
}

/** Prepares a comment that everybody follows; `push` edits it and answers when each subscriber heard, in ms. */
async function editing(bench: Bench, clients: Client[]): Promise<(edits: number) => Promise<number[]>> {
  const ledger = withHints(createLedger(bench.app), createHinter(bench.app));
  const at = { principal: bench.user, task_id: task };
  await bench.makePlan(task, 'start');
  const plan_id = String((await ledger.planGet(at))?.id);
  const comment_id = randomUUID();
  const about = { selected_text: 'start', anchor_from: 0, anchor_to: 5 };
  let { revision } = await ledger.commentCreate({ ...at, plan_id, comment_id, body: 'Why?', ...about });
  let heard: (revision: number) => void = () => {};
  for (const client of clients) {
    await client.subscribe(task, {
      notified: ({ action, payload }) => {
        if (action === 'task.plan.comments.changed') heard(payload.revision);
      },
    });
  }
  return async (edits) => {
    const times: number[] = [];
    for (let edit = 0; edit < edits; edit += 1) {
      const start = performance.now();
      const everybody = new Promise<void>((resolve) => {
        let left = clients.length;
        heard = (told) => {
          if (told !== revision + 1) return;
          times.push(performance.now() - start);
          left -= 1;
          if (left === 0) resolve();
        };
      });
      const body = `Why, for the ${edit}th time?`;
      await ledger.commentUpdate({ ...at, plan_id, comment_id, body, expected_version: revision });
      await everybody;
      revision += 1;
    }
    return times;
  };
}

/** The least a change can cost that somebody else is told of: a row, and a NOTIFY that a connection listens for. */
async function notifying({ app, admin }: Bench): Promise<(rounds: number) => Promise<number[]>> {
  await admin`create table bare.changes (id bigint generated always as identity primary key, body text)`;
  await admin`grant insert on bare.changes to planledger_app`;
  let heard: () => void = () => {};
  await app.listen('bare_changes', () => heard());
  return async (rounds) =>
    await latencies(rounds, async () => {
      const told = new Promise<void>((resolve) => {
        heard = resolve;
      });
      await app`insert into bare.changes (body) values ('Why?')`;
      await app`select pg_notify('bare_changes', '')`;
      await told;
    });
}

/** `planledger serve` as a process of its own. */
async function startGateway(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const main = fileURLToPath(new URL('../src/surfaces/cli/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main, 'serve', '--port', '0'], {
    env: { ...process.env, DATABASE_URL: databaseUrl, PLANLEDGER_LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const [line] = await once(createInterface(child.stdout), 'line');
  const [, address] = /http:\/\/(\S+)\/mcp/.exec(String(line)) ?? [];
  if (address === undefined) throw new Error(`the gateway said ${line}`);
  return {
    url: `ws://${address}/ws`,
    async stop() {
      child.kill('SIGKILL'); // it has nothing to save
      await ended;
    },
  };
}
