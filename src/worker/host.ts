import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { PlanledgerError, toPlanledgerError } from '../ledger/errors.ts';
import type { AgentsTendRow, Ledger } from '../ledger/generated.ts';
import { startAcpAgent } from '../transports/acp.ts';
import type { Agents } from '../transports/agents-file.ts';
import { startPassthroughAgent } from '../transports/passthrough.ts';
import { type Agent, type Kind, type Ready, type Say, TransportError } from '../transports/transport.ts';
import { prepareWebhook } from '../transports/webhook.ts';
import { interval, leaseMs } from './leases.ts';
import type { UntilWritten } from './until-written.ts';

/** @see createHost */
export interface HostOptions {
  /** Calls as `planledger_worker`. */
  ledger: Ledger;
  /** The name under which this process has leases; no other process has it. */
  holder: string;
  agents: Agents;
  logger: Logger;
  untilWritten: UntilWritten;
  /** Delivers a prompt that waits for an agent of this process. */
  deliver(taskId: string, receiptId: string): Promise<void>;
}

/** The session whose agent is meant, and the lease on it. */
interface Seat {
  taskId: string;
  sessionId: string;
  agentName: string;
  transport: string;
  /** Null where there is no process to have a lease on. */
  agentToken: string | null;
}

/** The agents that this process runs. */
export interface Host {
  /** Gives the lease on an agent back that could not be made ready, unless its process runs. */
  letGo(seat: Seat): Promise<void>;
  /** Has the agent of a session be there and wait for a prompt. @throws TransportError */
  prepare(seat: Seat): Promise<Ready>;
  /** Starts the agent of a session that has none yet. */
  start(taskId: string, sessionId: string): Promise<void>;
  /** Looks at once at what the sessions want. */
  look(): void;
  /** Ends every agent and gives its lease back. */
  close(): Promise<void>;
}

interface Running {
  seat: Seat & { agentToken: string };
  agent: Promise<Agent>;
  /** Ends it while it is starting. */
  starting: AbortController;
  /** Settles when what it has said is in the transcript. */
  written(): Promise<void>;
  since: number;
  /** The turn whose prompt it has. */
  turn: string | null;
  /** When it was asked to cancel that turn. */
  cancelledAt: number;
}

const lookMs = 1_000;
const marginMs = 5_000;
const lastWordsMs = 2_000;
const cancelAgainMs = 5_000;

/**
 * Runs the agents whose leases this process has, and looks once a second at what their sessions want: the lease is
 * renewed, a prompt that another worker could not deliver is, a turn is cancelled, an agent without a session ends.
 */
export function createHost({ ledger, holder, agents, logger, untilWritten, deliver }: HostOptions): Host {
  const running = new Map<string, Running>();
  const leaving = new Set<string>(); // leases that are being given back
  let renewedAt = performance.now();
  let looking: Promise<void> | undefined;
  let again = false;
  let closed = false;
  const timer = setInterval(look, lookMs);

  return { prepare, letGo, start, look, close };

  async function prepare(seat: Seat): Promise<Ready> {
    const entry = agents.get(seat.agentName);
    if (entry === undefined) {
      throw new TransportError(
        `The worker knows no agent of the name ${seat.agentName}; its file of agents (--agents) names them.`,
      );
    }
    if (entry.transport !== seat.transport) {
      throw new TransportError(`The worker knows ${seat.agentName} as ${entry.transport}, not ${seat.transport}.`);
    }
    if (entry.transport === 'webhook') return prepareWebhook(entry);
    const { agentToken } = seat;
    if (agentToken === null || closed) throw new TransportError('The worker does not run agents now.');
    const known = running.get(agentToken);
    if (known !== undefined) {
      const agent = await known.agent;
      await agent.waits?.();
      return agent;
    }
    if (leaving.has(agentToken)) throw new TransportError("The agent's process has just ended.");
    const { say, written } = speaker(seat.taskId, agentToken);
    const starting = new AbortController();
    const started =
      entry.transport === 'acp'
        ? startAcpAgent(entry, say, starting.signal)
        : startPassthroughAgent(entry, say, starting.signal);
    const agent = started.then((one) =>
      heardOut(one, written, (turnId) => {
        now.turn = turnId;
        now.cancelledAt = -Infinity;
      }),
    );
    const now: Running = {
      seat: { ...seat, agentToken },
      agent,
      starting,
      written,
      since: performance.now(),
      turn: null,
      cancelledAt: -Infinity,
    };
    running.set(agentToken, now);
    agent.then(({ ended }) => ended.then((why) => gone(agentToken, why))).catch(() => running.delete(agentToken));
    return agent;
  }

  async function letGo({ taskId: task_id, agentToken: token }: Seat): Promise<void> {
    if (token === null || running.has(token)) return;
    await ledger.agentEnd({ task_id, token }).catch((error: unknown) => report(error, task_id)); // it ends in a minute
  }

  async function start(task_id: string, session_id: string): Promise<void> {
    const { outcome, agent_token, agent_name, transport } = await ledger.agentStart({
      task_id,
      session_id,
      holder,
      lease: interval(leaseMs),
    });
    if (outcome !== 'started') return;
    const token = agent_token ?? '';
    const seat = { taskId: task_id, sessionId: session_id, agentName: agent_name ?? '', transport: transport ?? '' };
    try {
      await prepare({ ...seat, agentToken: token });
      await untilWritten(() => ledger.agentReady({ task_id, token }), Infinity);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      await untilWritten(() => ledger.agentEnd({ task_id, token, failure: shown(error.message) }), leaseMs);
    }
  }

  function speaker(task_id: string, token: string): { say: Say; written(): Promise<void> } {
    let last = Promise.resolve();
    let lost = false;
    return { say, written: () => last };

    function say(kind: Kind, content: string): void {
      const said = { task_id, token, kind, content, message_id: randomUUID() };
      last = last.then(async () => {
        if (lost) return;
        try {
          await untilWritten(() => ledger.agentSay(said), leaseMs);
        } catch (error) {
          lost = true; // the lease, or the worker stops: what comes after it is lost too
          report(error, task_id);
        }
      });
    }
  }

  /** Its process has ended, asked or not. */
  async function gone(token: string, why: string): Promise<void> {
    const found = running.get(token);
    if (found === undefined) return;
    running.delete(token);
    const { taskId: task_id } = found.seat;
    await found.written(); // its last words often say why
    if (running.has(token)) return; // the next prompt has come, and another process with it, under the same lease
    leaving.add(token);
    await untilWritten(() => ledger.agentEnd({ task_id, token, failure: shown(why) }), Infinity)
      .catch((error: unknown) => report(error, task_id))
      .finally(() => leaving.delete(token));
  }

  function look(): void {
    again = looking !== undefined;
    if (closed || running.size === 0) return;
    looking ??= lookOnce().finally(() => {
      looking = undefined;
      if (again) look();
    });
  }

  async function lookOnce(): Promise<void> {
    const askedAt = performance.now();
    let rows: AgentsTendRow[];
    try {
      rows = await ledger.agentsTend({ holder, tokens: [...running.keys()], lease: interval(leaseMs) });
      renewedAt = askedAt;
    } catch (error) {
      report(error, null);
      if (performance.now() - renewedAt < leaseMs - marginMs) return;
      rows = []; // by now another worker may have every lease
    }
    const ours = new Map(rows.map((row) => [row.agent_token, row]));
    for (const [token, one] of running) {
      const row = ours.get(token);
      if (row?.wanted) tend(one, row);
      // One that came after the look was asked for is not in it.
      else if (row !== undefined || one.since < askedAt) void end(token);
    }
  }

  function tend(one: Running, { cancel_turn_id, receipt_id }: AgentsTendRow): void {
    const { taskId } = one.seat;
    // Before it has the prompt, there is nothing it could stop; and it may miss the first request while it begins.
    if (cancel_turn_id !== null && cancel_turn_id === one.turn && performance.now() - one.cancelledAt > cancelAgainMs) {
      one.cancelledAt = performance.now();
      void one.agent.then((agent) => agent.cancel?.()).catch(() => {}); // it could not start
    }
    if (receipt_id !== null) void deliver(taskId, receipt_id).catch((error: unknown) => report(error, taskId));
  }

  /** Ends an agent, and gives its lease back. */
  async function end(token: string): Promise<void> {
    const found = running.get(token);
    if (found === undefined) return;
    running.delete(token);
    const { taskId: task_id } = found.seat;
    found.starting.abort();
    await found.agent.then((agent) => agent.stop()).catch(() => {}); // one that could not start has ended
    await Promise.race([found.written(), sleep(lastWordsMs, undefined, { ref: false })]);
    await ledger.agentEnd({ task_id, token }).catch((error: unknown) => report(error, task_id));
  }

  async function close(): Promise<void> {
    closed = true;
    clearInterval(timer);
    await looking;
    await Promise.all([...running.keys()].map((token) => end(token)));
  }

  function report(thrown: unknown, task_id: string | null): void {
    const { code, operation } = toPlanledgerError(thrown, 'run_agents', task_id);
    const lost = thrown instanceof PlanledgerError && code === 'lease_lost';
    logger[lost ? 'debug' : 'warn']({ code, operation, task_id }, 'an agent cannot be tended');
  }
}

/** The same agent, whose turns end when what it said in them is in the transcript: what comes next stands behind it. */
function heardOut(agent: Agent, written: () => Promise<void>, has: (turnId: string) => void): Agent {
  return {
    ...agent,
    async send(prompt) {
      const sent = await agent.send(prompt);
      has(prompt.id);
      if (sent.outcome !== 'accepted' || sent.turn === undefined) return sent;
      return { ...sent, turn: sent.turn.then((why) => written().then(() => why)) };
    },
  };
}

/** A failure as it is stored: people read it, and what a program printed may be anything. */
export function shown(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd').slice(0, 1_000).toWellFormed();
}
