/** Delivers prompts until the test says `stop`; reports `ready` with its process id, and what it logs as `logged`. */
import { pino } from 'pino';
import type { AgentEntry } from '../../../src/transports/agents-file.ts';
import { startWorker } from '../../../src/worker/worker.ts';
import { configuration, listen, report } from './protocol.ts';

export interface DeliverConfiguration {
  url: string;
  agents: Record<string, AgentEntry>;
  /** What is logged: errors when absent. */
  level?: 'error' | 'debug';
}

const { url, agents, level = 'error' } = configuration<DeliverConfiguration>();
const test = listen();
process.env.PLANLEDGER_HOOK_SECRET = 'secret';
const logger = pino({ level }, { write: (line) => report('logged', JSON.parse(line)) });
const worker = startWorker({ databaseUrl: url, logger, agents: new Map(Object.entries(agents)) });
report('ready', { pid: process.pid });
await test.told('stop');
await worker.close();
process.exit(0);
