import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PlanledgerError } from '../../ledger/errors.ts';
import type { Ledger } from '../../ledger/generated.ts';
import type { Sql } from '../../postgres/connect.ts';
import { asAdministrator, authenticate } from './caller.ts';
import { writePrivate } from './running.ts';

const sampleWorkspace = 'sample';
const sampleTask = 'sample-task';
const samplePlan = `# Try Planledger

- [x] Start it
- [ ] Append a line from another terminal
- [ ] Connect an agent and let it read this plan
`;

/** A token that works, and a task with a plan to try it on. */
export interface Sample {
  token: string | null;
  taskId: string | null;
}

/**
 * Finds the token that an earlier start on this data folder kept, or makes the sample: in an empty database, or where a
 * start made it before and the token is gone. In a database that has other workspaces nothing is made, because a token
 * for them is its administrator's to give.
 *
 * @param tokenFile - where the token is kept, readable by its owner only.
 */
export async function ensureSample(databaseUrl: string, ledger: Ledger, tokenFile: string): Promise<Sample> {
  const kept = await readFile(tokenFile, 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    },
  );
  const principal = kept === '' ? undefined : await principalOf(ledger, kept);
  if (principal !== undefined) return { token: kept, taskId: await taskToTry(ledger, principal) };
  const made = await asAdministrator(databaseUrl, makeSample);
  if (made === undefined) return { token: null, taskId: null };
  await writePrivate(tokenFile, `${made.token}\n`);
  return { token: made.token, taskId: await taskToTry(ledger, made.principal) };
}

/** The token of a data folder for one database: the folder's own, or one reached by DATABASE_URL. */
export function tokenFile(dataDir: string, externalUrl: string | undefined): string {
  if (externalUrl === undefined) return path.join(dataDir, 'token');
  const { host, pathname } = new URL(externalUrl);
  return path.join(dataDir, `token-${createHash('sha256').update(`${host}${pathname}`).digest('hex').slice(0, 16)}`);
}

async function principalOf(ledger: Ledger, token: string): Promise<string | undefined> {
  return await authenticate(ledger, token).catch((error: unknown) => {
    if (error instanceof PlanledgerError && error.code === 'unauthenticated') return undefined;
    throw error;
  });
}

async function makeSample(ledger: Ledger, sql: Sql): Promise<{ token: string; principal: string } | undefined> {
  // Two starts with different data folders on one new database: the second waits and finds the first one's workspace.
  await sql`lock table planledger.workspaces in share row exclusive mode`;
  const [found] = await sql<{ some: boolean; sample: boolean }[]>`
    select count(*) > 0 as some, coalesce(bool_or(id = ${sampleWorkspace}), false) as sample from planledger.workspaces`;
  if (found?.some && !found.sample) return undefined;
  if (!found?.some) await ledger.workspaceCreate({ name: 'Sample', workspace_id: sampleWorkspace });
  const { id: principal } = await ledger.principalCreate({
    workspace_id: sampleWorkspace,
    kind: 'user',
    display_name: ownName(),
  });
  if (!found?.some) {
    await ledger.taskCreate({ principal, task_id: sampleTask, title: 'Try Planledger' });
    await ledger.planCreate({ principal, task_id: sampleTask, content: samplePlan, title: 'Try Planledger' });
  }
  const { token } = await ledger.tokenCreate({ principal, name: 'planledger start' });
  return { token, principal };
}

/** The name of who runs this. A user id without an entry, usual in containers, has none; history then says `User`. */
function ownName(): string | undefined {
  try {
    return os.userInfo().username;
  } catch {
    return undefined;
  }
}

async function taskToTry(ledger: Ledger, principal: string): Promise<string | null> {
  const tasks = (await ledger.taskList({ principal })).filter((task) => task.plan_revision_number !== null);
  return (tasks.find((task) => task.id === sampleTask) ?? tasks[0])?.id ?? null;
}
