import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';

const program = {
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  cwd: z.string().default('.'),
  env: z.record(z.string(), z.string()).default({}),
};

/** Agents that are programs of this machine are not given variables of such names. */
const secretName = z.string().startsWith('PLANLEDGER_', 'a secret is in a variable whose name begins with PLANLEDGER_');

const entrySchema = z.discriminatedUnion('transport', [
  z.strictObject({
    transport: z.literal('acp'),
    ...program,
    permissions: z.enum(['allow', 'reject']).default('reject'),
    mcp_servers: z.array(z.record(z.string(), z.unknown())).default([]),
  }),
  z.strictObject({
    transport: z.literal('passthrough'),
    ...program,
    ready: z.string().min(1).refine(isPattern, 'is not a regular expression').optional(),
    quiet_ms: z.int().min(1).max(10_000).default(1_000),
  }),
  z.strictObject({ transport: z.literal('webhook'), url: z.url({ protocol: /^https?$/ }), secret_env: secretName }),
]);

/** How a worker reaches one agent. */
export type AgentEntry = z.output<typeof entrySchema>;
/** An agent that is a process speaking the Agent Client Protocol. */
export type AcpEntry = Extract<AgentEntry, { transport: 'acp' }>;
/**
 * An agent that is a terminal program. It waits for a prompt when the end of what it shows matches `ready`, or, without
 * that, when it has shown something and then nothing for `quiet_ms` milliseconds.
 */
export type PassthroughEntry = Extract<AgentEntry, { transport: 'passthrough' }>;
/** An agent that is called over HTTP. */
export type WebhookEntry = Extract<AgentEntry, { transport: 'webhook' }>;

/** The agents that a worker can reach, by the name that sessions have for them. */
export type Agents = ReadonlyMap<string, AgentEntry>;

/** What is wrong with a file of agents, for its operator. */
export class AgentsFileError extends Error {}

/**
 * Reads the file in which the operator of a worker names its agents. A prompt or a session never names a program, an
 * address or a secret: only an entry here. A relative `cwd` is one of the file's folder.
 *
 * @throws AgentsFileError
 */
export async function readAgents(file: string): Promise<Agents> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    throw new AgentsFileError(`Cannot read ${file}: ${error instanceof Error ? error.message : error}.`);
  }
  const parsed = z.strictObject({ agents: z.record(z.string(), entrySchema) }).safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new AgentsFileError(`${file}: ${issue?.path.join('.') || 'the file'}: ${issue?.message}.`);
  }
  const folder = path.dirname(path.resolve(file));
  return new Map(
    Object.entries(parsed.data.agents).map(([name, entry]) => [
      name,
      'cwd' in entry ? { ...entry, cwd: path.resolve(folder, entry.cwd) } : entry,
    ]),
  );
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
