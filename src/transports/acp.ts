import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ClientContext,
  client,
  methods,
  ndJsonStream,
  type PermissionOption,
  PROTOCOL_VERSION,
  RequestError,
} from '@agentclientprotocol/sdk';
import { programVersion } from '../version.ts';
import { createLinkedFiles, promptBlocks } from './acp-prompt.ts';
import type { AcpEntry } from './agents-file.ts';
import { agentEnvironment } from './environment.ts';
import { createSpeech } from './speech.ts';
import { type Agent, type Prompt, type Say, type Sent, TransportError } from './transport.ts';

const startMs = 40_000;
const acceptMs = 10_000;
const writeMs = 60_000;
const stopMs = 3_000;
const lastWordsMs = 1_000;

/**
 * Starts the process of an agent and opens its session.
 *
 * @param signal Ends the process while it is starting.
 * @throws TransportError
 */
export async function startAcpAgent(entry: AcpEntry, say: Say, signal: AbortSignal): Promise<Agent> {
  const child = await spawned(entry);
  const stderr = lastLine(child);
  const links = createLinkedFiles();
  const ended = once(child, 'exit').then(async ([code, signal]) => {
    // What it has started may hold its output open, and has no worker any more.
    await Promise.race([once(child, 'close'), sleep(lastWordsMs, undefined, { ref: false })]);
    kill(child, 'SIGKILL');
    for (const stream of child.stdio) stream?.destroy();
    await links.remove();
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    return `The agent's process ended ${how}${stderr() === '' ? '.' : `: ${stderr()}`}`;
  });
  const speech = createSpeech(say);
  let heard = () => {};
  const connection = client({ name: 'planledger' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => ({
      outcome: choice(params.options, entry.permissions),
    }))
    .onNotification(methods.client.session.update, ({ params }) => {
      heard();
      speech.update(params.update);
    })
    .connect(
      ndJsonStream(
        Writable.toWeb(child.stdin as Writable),
        Readable.toWeb(child.stdout as Readable) as ReadableStream<Uint8Array>,
      ),
    );
  connection.closed.catch(() => {}); // the process ends with it, and says why
  const endAtOnce = () => kill(child, 'SIGKILL');
  signal.addEventListener('abort', endAtOnce);
  if (signal.aborted) endAtOnce();
  const opened = await Promise.race([
    // A process that ends says better why.
    open(connection.agent, entry).catch((error: Error) =>
      sleep(2 * lastWordsMs, error).then((late) => Promise.reject(late)),
    ),
    ended.then((why) => new TransportError(why)),
    sleep(startMs, new TransportError('The agent did not answer when it was started.'), { ref: false }),
  ]).catch((error: Error) => new TransportError(`The agent could not be started: ${error.message}`));
  signal.removeEventListener('abort', endAtOnce);
  if (opened instanceof TransportError) {
    endAtOnce();
    throw opened;
  }
  const { sessionId, capabilities, modes } = opened;
  let mode = modes?.currentModeId;

  return {
    ended,
    send,
    cancel: () => void connection.agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {}),
    async stop() {
      child.stdin?.end();
      kill(child, 'SIGTERM');
      await Promise.race([ended, sleep(stopMs, undefined, { ref: false })]);
      kill(child, 'SIGKILL');
      await ended;
    },
  };

  async function send(prompt: Prompt): Promise<Sent> {
    let blocks: Awaited<ReturnType<typeof promptBlocks>>;
    try {
      blocks = await promptBlocks(prompt, capabilities, links);
    } catch (error) {
      return { outcome: 'refused', failure: `The files cannot be given to the agent: ${(error as Error).message}.` };
    }
    speech.begin();
    try {
      await setMode(prompt.planMode);
    } catch (error) {
      return { outcome: 'refused', failure: `The agent's mode cannot be changed: ${(error as Error).message}.` };
    }
    const first = new Promise<void>((resolve) => {
      heard = resolve;
    });
    const answer = connection.agent
      .request(methods.agent.session.prompt, { sessionId, prompt: blocks })
      .then(({ stopReason }) => ({ stopReason }))
      .catch((error: unknown) => ({ error }));
    const turn = answer.then(async (end) => {
      speech.flush();
      if ('stopReason' in end) return stops[end.stopReason];
      if (end.error instanceof RequestError) return refusal(end.error);
      // Its process ends, or speaks the protocol no more and is ended.
      await Promise.race([ended, sleep(lastWordsMs, undefined, { ref: false })]);
      kill(child, 'SIGKILL');
      return new Promise<never>(() => {});
    });
    const accepted: Sent = { outcome: 'accepted', turn };
    return Promise.race([
      first.then(() => accepted),
      isWritten().then((written) => (written ? accepted : neverRead)),
      answer.then(async (end): Promise<Sent> => {
        if ('stopReason' in end) return accepted;
        if (end.error instanceof RequestError) return { outcome: 'refused', failure: refusal(end.error) };
        return { outcome: 'unknown', failure: await ended };
      }),
    ]);
  }

  /** An agent that has a mode of planning is in it for a prompt that asks for a plan, and for no other. */
  async function setMode(planMode: boolean): Promise<void> {
    const modeId = planMode ? modes?.availableModes.find(({ id }) => id === 'plan')?.id : modes?.currentModeId;
    if (modeId === undefined || modeId === mode) return;
    await Promise.race([
      connection.agent.request(methods.agent.session.setMode, { sessionId, modeId }),
      sleep(acceptMs, undefined, { ref: false }).then(() => Promise.reject(new Error('no answer in time'))),
    ]);
    mode = modeId;
  }

  /** Whether all of a request was taken by a process that still lives after a while. One that takes half of it is ended. */
  async function isWritten(): Promise<boolean> {
    await sleep(acceptMs, undefined, { ref: false });
    for (const end = performance.now() + writeMs; performance.now() < end; ) {
      if (child.stdin?.writableLength === 0) return true;
      await sleep(100, undefined, { ref: false });
    }
    kill(child, 'SIGKILL');
    return false;
  }
}

const neverRead: Sent = { outcome: 'unknown', failure: 'The agent did not read the whole prompt, and was ended.' };

const stops: Record<string, string | undefined> = {
  max_tokens: 'The agent stopped: its answer reached the largest length.',
  max_turn_requests: 'The agent stopped: it made as many requests as it may in a turn.',
  refusal: 'The agent refused to go on.',
};

function refusal({ message }: RequestError): string {
  return `The agent refused the prompt: ${message}.`;
}

/** The program, in the place of the shell; should its worker be killed, its whole group is ended by what waits beside. */
const guarded = `
  { trap '' TERM; read -r _; kill -s TERM -- "-$$"; sleep 3; kill -s KILL -- "-$$"; } <&3 3<&- >/dev/null 2>&1 &
  exec "$@" 3<&-
`;

async function spawned({ command, args, cwd, env }: AcpEntry): Promise<ChildProcess> {
  // In a group of its own, which Ctrl-C in the worker's terminal does not reach.
  const child = spawn('/bin/sh', ['-c', guarded, command, command, ...args], {
    ...{ cwd, env: agentEnvironment(env), detached: true },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'], // the last is open as long as the worker lives
  });
  child.stdin.on('error', () => {}); // its end says why
  await once(child, 'spawn').catch((error: Error) => {
    throw new TransportError(`The agent's program cannot be started in ${cwd}: ${error.message}.`);
  });
  child.on('error', () => {});
  return child;
}

async function open(agent: ClientContext, { cwd, mcp_servers }: AcpEntry) {
  const { agentCapabilities: capabilities } = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: {},
    clientInfo: { name: 'planledger', version: programVersion },
  });
  const { sessionId, modes } = await agent.request(methods.agent.session.new, {
    cwd,
    mcpServers: mcp_servers as never,
  });
  return { sessionId, capabilities, modes };
}

function choice(options: PermissionOption[], wanted: AcpEntry['permissions']) {
  const option = options.find(({ kind }) => kind === `${wanted}_once`);
  return option === undefined
    ? ({ outcome: 'cancelled' } as const)
    : ({ outcome: 'selected', optionId: option.optionId } as const);
}

/** Signals the program and what it has started, as far as they are there. */
function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {} // nobody of its group is left
}

/** What the program said last of what went wrong. */
function lastLine({ stderr }: ChildProcess): () => string {
  let tail = '';
  stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-2_000);
  });
  return () => (tail.trim().split('\n').at(-1) ?? '').replaceAll('\0', '').slice(-500);
}
