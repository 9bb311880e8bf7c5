import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Delivery, Ledger, Session } from '../ledger/generated.ts';
import type { AcpEntry } from '../transports/agents-file.ts';
import type { Cast } from './cast.ts';
import { DemoError, programFile } from './programs.ts';

export const sessionId = 'demo';
export const agentName = 'Cleo';

const pollMs = 50;
const patienceMs = 30_000;

/** The agent of this folder, which writes into the file `record` what it was sent. */
export function agentEntry(record: string, cwd: string): AcpEntry {
  return {
    ...{ transport: 'acp', command: process.execPath, args: [programFile('agent'), record], cwd },
    ...{ env: {}, permissions: 'reject', mcp_servers: [] },
  };
}

/** Makes a session with the agent and waits until its process waits for a prompt. */
export async function openSession(ledger: Ledger, cast: Cast, signal: AbortSignal): Promise<void> {
  const by = { principal: cast.person, task_id: cast.taskId };
  const agent = { agent_name: agentName, transport: 'acp', is_primary: true };
  await ledger.sessionCreate({ ...by, name: 'Demo', session_id: sessionId, ...agent });
  await waitForAgent(ledger, cast, signal);
}

/** Comments on a line of the plan, as a person does. */
export async function comment(ledger: Ledger, cast: Cast, body: string, selected_text: string): Promise<void> {
  const { content = '' } = (await ledger.planGet({ principal: cast.person, task_id: cast.taskId })) ?? {};
  const anchor_from = content.indexOf(selected_text);
  await ledger.commentCreate({
    ...{ principal: cast.person, task_id: cast.taskId, plan_id: cast.planId, comment_id: randomUUID(), body },
    ...{ selected_text, anchor_from, anchor_to: anchor_from + selected_text.length },
  });
}

/** Sends the pending comments with a prompt; with the same text again, it is the same request. */
export async function sendComments(
  ledger: Ledger,
  cast: Cast,
  versions: { id: string; version: number }[],
): Promise<Delivery> {
  return await ledger.messageAdd({
    ...{ principal: cast.person, task_id: cast.taskId, session_id: sessionId, client_message_id: 'demo-1' },
    ...{ content: 'Answer the comment.', plan_comment_refs: versions },
  });
}

/** Waits until the session waits for a prompt: the agent has started, or is done with the last one. */
export async function waitForAgent(ledger: Ledger, cast: Cast, signal: AbortSignal): Promise<void> {
  const end = performance.now() + patienceMs;
  let session: Session | undefined;
  while (performance.now() < end) {
    signal.throwIfAborted();
    const sessions = await ledger.sessionList({ principal: cast.person, task_id: cast.taskId });
    session = sessions.find(({ id }) => id === sessionId);
    if (session?.failure) throw new DemoError(`The session of the agent says: ${session.failure}`);
    if (session?.state === 'WAITING_FOR_INPUT') return;
    await sleep(pollMs);
  }
  throw new DemoError(`After ${patienceMs / 1000} seconds the session of the agent is still ${session?.state}.`);
}
