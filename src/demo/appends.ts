import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { agentEnvironment } from '../transports/environment.ts';
import { DemoError, programFile } from './programs.ts';

/** An agent that adds sections to a plan. */
export interface Appender {
  name: string;
  token: string;
  sections: string[];
}

/**
 * Runs each appender as a process of its own. They begin at the same moment, once all of them are connected, and each
 * makes all its calls at once.
 *
 * @throws DemoError when one of them fails.
 */
export async function appendTogether(url: string, appenders: Appender[], signal: AbortSignal): Promise<void> {
  const processes = appenders.map((appender) => start(url, appender));
  const stop = () => {
    for (const { child } of processes) child.kill();
  };
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    await Promise.all(processes.map(({ ready }) => ready));
    for (const { child } of processes) child.stdin?.write('go\n');
    await Promise.all(processes.map(({ done }) => done));
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    await Promise.allSettled(processes.map(({ done }) => done));
  }
}

function start(url: string, { name, token, sections }: Appender) {
  const child: ChildProcess = spawn(process.execPath, [programFile('appender'), url, ...sections], {
    env: agentEnvironment({ TOKEN: token }),
    stdio: 'pipe',
  });
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  child.stdin?.on('error', () => {}); // its end says why
  const done = once(child, 'close').then(([code]) => {
    if (code !== 0) throw new DemoError(`The agent ${name} ended with ${code}: ${said.trim()}`);
  });
  done.catch(() => {}); // it may end before anybody waits for it
  const ready = Promise.race([
    once(child.stdout ?? child, 'data'),
    done.then(() => {
      throw new DemoError(`The agent ${name} ended before it began.`);
    }),
  ]);
  ready.catch(() => {});
  return { child, ready, done };
}
