import { createLedger } from '../src/ledger/ledger.ts';
import { connect, type Sql } from '../src/postgres/connect.ts';
import { freshDatabase } from '../test/support/database.ts';

/** One row of the table. */
export interface Result {
  value: number;
  target: number;
  /** Whether the target is an upper bound rather than a lower one. */
  atMost: boolean;
  ok: boolean;
  /** What was measured, for people. */
  note: string;
}

/** What every scenario works with: one migrated database, one pool of 16 for both sides of a ratio. */
export interface Bench {
  quick: boolean;
  url: string;
  admin: Sql;
  app: Sql;
  user: string;
  /** Makes a task with a plan of that text. */
  makePlan(task: string, content: string): Promise<void>;
  close(): Promise<void>;
}

export const clients = 16;
export const fragment = 'x'.repeat(100);

export async function openBench(serverUrl: string, quick: boolean): Promise<Bench> {
  const url = await freshDatabase(serverUrl);
  const admin = await connect(url, { role: null, max: 2 });
  const app = await connect(url, { max: clients });
  const administrator = createLedger(admin);
  const ledger = createLedger(app);
  await administrator.workspaceCreate({ name: 'Bench', workspace_id: 'bench' });
  const { id: user } = await administrator.principalCreate({ workspace_id: 'bench', kind: 'user' });
  await administrator.settingsChange({ coalesce_window: '1 day' });
  await admin`create schema bare`;
  await admin`grant usage on schema bare to planledger_app`;
  return {
    quick,
    url,
    admin,
    app,
    user,
    async makePlan(task, content) {
      await ledger.taskCreate({ principal: user, task_id: task, title: task });
      await ledger.planCreate({ principal: user, task_id: task, content });
    },
    async close() {
      await Promise.all([admin.end({ timeout: 5 }), app.end({ timeout: 5 })]);
      const server = await connect(serverUrl, { role: null, max: 1 });
      await server.unsafe(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
      await server.end();
    },
  };
}

/** Prose that compresses like a plan, to a third (plans in Markdown: to half); another text for each `seed`. */
export function prose(bytes: number, seed = 7): string {
  const words =
    'plan step check verify the of deploy schema index write read test owner review because when done'.split(' ');
  let state = seed;
  let text = '';
  while (text.length < bytes) {
    state = (state * 1103515245 + 12345) % 2147483648;
    text += `${words[state % words.length]}${state % 11 === 0 ? `-${state}\n` : ' '}`;
  }
  return `${text.slice(0, bytes - 1)}.`;
}

/** Runs `call` over and over from `count` clients for `ms`; answers calls per second. */
export async function throughput(
  count: number,
  ms: number,
  call: (client: number) => Promise<unknown>,
): Promise<number> {
  let calls = 0;
  const start = performance.now();
  await Promise.all(
    Array.from({ length: count }, async (_, client) => {
      while (performance.now() - start < ms) {
        await call(client);
        calls += 1;
      }
    }),
  );
  return calls / ((performance.now() - start) / 1000);
}

/** Has 16 clients make `call` once for each of `items`; answers calls per second. */
export async function workThrough<T>(items: readonly T[], call: (item: T) => Promise<unknown>): Promise<number> {
  const left = items.values();
  const start = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (const item of left) await call(item);
    }),
  );
  return items.length / ((performance.now() - start) / 1000);
}

/** Milliseconds of each of `count` calls, one after another. */
export async function latencies(count: number, call: (index: number) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const start = performance.now();
    await call(index);
    times.push(performance.now() - start);
  }
  return times;
}

export function median(values: number[]): number {
  return percentile(values, 0.5);
}

/** The value that a `share` of the values (0 to 1) lie below. */
export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

export function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The ratio a ÷ b, measured in pairs that alternate so that a drift of the machine's speed falls on both. */
export async function pairedRatio(
  rounds: number,
  a: () => Promise<number>,
  b: () => Promise<number>,
): Promise<{ ratio: number; a: number; b: number }> {
  const pairs: [number, number][] = [];
  for (let round = 0; round < rounds; round += 1) {
    if (round % 2 === 0) {
      const first = await a();
      pairs.push([first, await b()]);
    } else {
      const first = await b();
      pairs.push([await a(), first]);
    }
  }
  return {
    ratio: median(pairs.map(([left, right]) => left / right)),
    a: median(pairs.map(([left]) => left)),
    b: median(pairs.map(([, right]) => right)),
  };
}

export function atMost(value: number, target: number, note: string): Result {
  return { value: rounded(value), target, atMost: true, ok: value <= target, note };
}

export function atLeast(value: number, target: number, note: string): Result {
  return { value: rounded(value), target, atMost: false, ok: value >= target, note };
}

function rounded(value: number): number {
  return Number(value.toPrecision(3));
}
