import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { AcpEntry, AgentEntry } from '../../../src/transports/agents-file.ts';

/** Agents that record every prompt they get before they answer, and what they recorded. */
export interface Recording {
  /** `acp`, a process, and `webhook`, a server of the test's. */
  agents: Record<string, AgentEntry>;
  /** Every prompt that an agent got. */
  prompts(): Promise<string[]>;
  /** The process id of every agent that was started. */
  started(): Promise<number[]>;
  close(): Promise<void>;
}

/** @param pauseMs How long a recording agent takes for a step, at most. */
export async function startRecording(pauseMs: number): Promise<Recording> {
  const folder = await mkdtemp(path.join(tmpdir(), 'planledger-record-'));
  const record = path.join(folder, 'record');
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined); // the worker was killed half-way
    if (body === undefined) return;
    appendFileSync(record, `${JSON.stringify({ prompt: JSON.parse(String(body)).content })}\n`);
    await sleep(Math.random() * pauseMs);
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const lines = async () =>
    (await readFile(record, 'utf8').catch(() => ''))
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { prompt?: string; started?: number });
  return {
    agents: {
      acp: acpRecorder(record, { PAUSE: String(pauseMs) }),
      webhook: { transport: 'webhook', url: `http://127.0.0.1:${port}`, secret_env: 'PLANLEDGER_HOOK_SECRET' },
    },
    prompts: async () => (await lines()).flatMap(({ prompt }) => prompt ?? []),
    started: async () => (await lines()).flatMap(({ started }) => started ?? []),
    async close() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** The entry of an agent that records in a file; what `env` may say stands in its program. */
export function acpRecorder(record: string, env: Record<string, string>): AcpEntry {
  return {
    transport: 'acp',
    command: process.execPath,
    args: [fileURLToPath(new URL('../../worker/acp-agent.ts', import.meta.url))],
    cwd: '.',
    env: { RECORD: record, ...env },
    permissions: 'reject',
    mcp_servers: [],
  };
}
