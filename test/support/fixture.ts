import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, inject } from 'vitest';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { databaseUrl, emptyDatabase } from './database.ts';

/** A database of the test file's own, cloned from the migrated template. */
export interface Fixture {
  /** Superuser connection string of the database. */
  url: string;
  /** Superuser, for looking at tables and for breaking things. */
  admin: Sql;
  /** The role production uses. */
  app: Sql;
  /** The facade over `app`. */
  ledger: Ledger;
}

/** Call at the top of a test file; the fields are set before the first test and closed after the last. */
export function useDatabase(): Fixture {
  const fixture = {} as Fixture;
  beforeAll(async () => {
    const template = new URL(inject('templateUrl')).pathname.slice(1);
    fixture.url = await emptyDatabase(inject('serverUrl'), `template ${template}`);
    fixture.admin = await connect(fixture.url, { role: null, max: 4, applicationName: 'test admin' });
    fixture.app = await connect(fixture.url, { max: 8, applicationName: 'test app' });
    fixture.ledger = createLedger(fixture.app);
  });
  afterAll(async () => {
    await Promise.all([fixture.admin?.end({ timeout: 5 }), fixture.app?.end({ timeout: 5 })]);
    const server = await connect(databaseUrl(inject('serverUrl'), 'postgres'), { role: null, max: 1 });
    await server.unsafe(`drop database if exists ${new URL(fixture.url).pathname.slice(1)} with (force)`);
    await server.end();
  });
  return fixture;
}

/** A workspace with a user, a service and one task with an agent on it; all ids are fresh. */
export interface Cast {
  workspace: string;
  task: string;
  user: string;
  service: string;
  agent: string;
  /** The agent's session on the task. */
  session: string;
}

/** Makes a cast through the administrator's functions. */
export async function makeCast({ admin }: Fixture): Promise<Cast> {
  const administrator = createLedger(admin);
  const workspace = `w-${randomUUID()}`;
  const task = `t-${randomUUID()}`;
  await administrator.workspaceCreate({ name: 'Test', workspace_id: workspace });
  const user = await administrator.principalCreate({ workspace_id: workspace, kind: 'user', display_name: 'Ann' });
  const service = await administrator.principalCreate({ workspace_id: workspace, kind: 'service', display_name: 'CI' });
  await administrator.taskCreate({ principal: user.id, task_id: task, title: 'Task' });
  const agent = await administrator.principalCreate({
    workspace_id: workspace,
    kind: 'agent',
    display_name: 'Bot',
    task_id: task,
  });
  return { workspace, task, user: user.id, service: service.id, agent: agent.id, session: agent.session_id ?? '' };
}
