import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { CommentSnapshot, PlanWriteAck } from '../../../src/ledger/generated.ts';
import type { AppendConfiguration } from '../../support/workers/append.ts';
import type { CallConfiguration } from '../../support/workers/call.ts';
import type { CommentConfiguration } from '../../support/workers/comment.ts';
import type { DeliverConfiguration } from '../../support/workers/deliver.ts';
import type { GatewayConfiguration } from '../../support/workers/gateway.ts';
import type { HoldConfiguration } from '../../support/workers/hold.ts';

/** What a worker process said. */
export interface Report {
  event: string;
  method?: string;
  fragment?: string;
  task?: string;
  answer?: PlanWriteAck;
  code?: string;
  url?: string;
  pid?: number;
  operation?: string;
  outcome?: string;
  msg?: string;
  client?: number;
  revision?: number;
  snapshot?: CommentSnapshot;
  error?: Record<string, unknown>;
}

/** A Node process that works on the database as a program of a user would. */
export interface Worker {
  reports: Report[];
  /** Reports of one kind, in order. */
  of(event: string): Report[];
  /** Resolves once `count` reports of that kind have come; rejects when the process ends before. */
  until(event: string, count?: number): Promise<void>;
  tell(word: string): void;
  kill(signal?: NodeJS.Signals): void;
  /** Its exit code, or the signal that ended it, after all it said has been read. */
  ended: Promise<number | NodeJS.Signals | null>;
}

interface Configurations {
  append: AppendConfiguration;
  call: CallConfiguration;
  comment: CommentConfiguration;
  deliver: DeliverConfiguration;
  gateway: GatewayConfiguration;
  hold: HoldConfiguration;
}

// Without it a start is mostly compiling.
const compileCache = fileURLToPath(new URL('../../../node_modules/.cache/planledger-compile', import.meta.url));
const running = new Set<ChildProcess>();
// A test that failed half-way leaves processes behind; no other test may meet them.
afterEach(async () => {
  const left = [...running];
  for (const child of left) child.kill('SIGKILL');
  await Promise.all(left.map((child) => child.exitCode ?? child.signalCode ?? once(child, 'exit')));
});

/** Starts `test/support/workers/<entry>.ts`. */
export function startWorker<Entry extends keyof Configurations>(
  entry: Entry,
  configuration: Configurations[Entry],
): Worker {
  const file = fileURLToPath(new URL(`../../support/workers/${entry}.ts`, import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(configuration)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
  });
  running.add(child);
  const reports: Report[] = [];
  const watchers = new Set<() => void>();
  const notify = () => {
    for (const watcher of watchers) watcher();
  };
  child.stdin.on('error', () => {}); // told something after its end
  const lines = createInterface({ input: child.stdout });
  lines.on('line', (line) => {
    reports.push(JSON.parse(line) as Report);
    notify();
  });
  let over = false;
  const ended = Promise.all([once(lines, 'close'), once(child, 'exit')]).then(([, [code, signal]]) => {
    running.delete(child);
    over = true;
    notify();
    return (code ?? signal) as number | NodeJS.Signals | null;
  });
  const of = (event: string) => reports.filter((report) => report.event === event);
  return {
    reports,
    of,
    until: (event, count = 1) =>
      new Promise((resolve, reject) => {
        const watcher = () => {
          if (of(event).length >= count) resolve();
          else if (over) reject(new Error(`the ${entry} process ended before it said ${count} × ${event}`));
          else return;
          watchers.delete(watcher);
        };
        watchers.add(watcher);
        watcher();
      }),
    tell: (word) => child.stdin.write(`${word}\n`),
    kill: (signal = 'SIGKILL') => child.kill(signal),
    ended,
  };
}
