import { type Agents, AgentsFileError, readAgents } from '../../transports/agents-file.ts';
import { UsageError } from './failure.ts';

/** What the option says of itself. */
export const agentsOption = 'file that says how each agent is reached (default: PLANLEDGER_AGENTS)';

/** The agents of a worker: those of the file named, or none. */
export async function findAgents(named: string | undefined): Promise<Agents> {
  const file = named ?? process.env.PLANLEDGER_AGENTS ?? '';
  if (file === '') return new Map();
  try {
    const agents = await readAgents(file);
    for (const [name, entry] of agents) {
      if (entry.transport !== 'webhook' || process.env[entry.secret_env]) continue;
      throw new UsageError(
        `The agent ${name} of ${file} is signed to with ${entry.secret_env}, which is not in the environment.`,
        'Set it, to the secret that the receiver knows.',
      );
    }
    return agents;
  } catch (error) {
    if (error instanceof AgentsFileError)
      throw new UsageError(error.message, 'Correct the file; docs/agents.md shows one.');
    throw error;
  }
}
