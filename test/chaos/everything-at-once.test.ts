import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { PlanledgerError } from '../../src/ledger/errors.ts';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect } from '../../src/postgres/connect.ts';
import { type Cast, makeCast, useDatabase } from '../support/fixture.ts';
import { historyProblems } from './support/history.ts';

const db = useDatabase();
const clients = 16;
const durationMs = 15_000;

const pick = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;
const section = () => `${'## Section '.repeat(1 + Math.floor(Math.random() * 120))}\n\n- [ ] ${randomUUID()}`;

interface Call {
  ledger: Ledger;
  /** Mostly the cast's task, otherwise a neighbour. */
  on: { principal: string; task_id: string };
  cast: Cast;
}

/** A version to send: mostly the current one. */
async function versionOf({ ledger, on }: Call): Promise<string> {
  return Math.random() < 0.1 ? randomUUID() : ((await ledger.planGet(on))?.version ?? '');
}

async function someRevision({ ledger, on }: Call): Promise<string> {
  return pick(await ledger.revisionList({ ...on, limit: 100 }))?.id ?? randomUUID();
}

const operations: Record<string, (call: Call) => Promise<unknown>> = {
  append: ({ ledger, on }) => ledger.planAppend({ ...on, fragment: section() }),
  appendOnce: ({ ledger, on }) => ledger.planAppend({ ...on, fragment: 'same', request_id: pick(['a', 'b', 'c']) }),
  create: async (call) =>
    call.ledger.planCreate({
      ...call.on,
      content: section(),
      expected_version: pick([undefined, await versionOf(call)]),
    }),
  replace: async (call) =>
    call.ledger.planReplace({
      ...call.on,
      content: section(),
      expected_version: await versionOf(call),
      allow_truncation: pick([true, false]),
    }),
  browserReplace: ({ ledger, on, cast }) =>
    ledger.planReplace({ ...on, principal: cast.user, policy: 'browser', content: pick(['', section()]) }),
  edit: async ({ ledger, on }) => {
    const plan = await ledger.planGet(on);
    return ledger.planEdit({
      ...on,
      old_text: plan?.content.match(/- \[ \] [0-9a-f-]+/)?.[0] ?? 'nothing',
      new_text: '- [x] done',
      expected_version: plan?.version ?? '',
    });
  },
  restore: async (call) => {
    const revision_id = await someRevision(call);
    const revision = await call.ledger.revisionGet({ ...call.on, revision_id });
    return call.ledger.planRestore({
      ...call.on,
      revision_id,
      expected_version: await versionOf(call),
      expected_revision_version: revision.revision_version,
    });
  },
  revert: async (call) =>
    call.ledger.planRevert({ ...call.on, principal: call.cast.user, revision_id: await someRevision(call) }),
  delete: ({ ledger, on }) => ledger.planDelete(on),
  mark: ({ ledger, cast }) =>
    ledger.planMarkImplementationStarted({ principal: cast.agent, task_id: cast.task, session_id: cast.session }),
  archive: ({ ledger, on }) => ledger.taskArchive(on),
  createTask: ({ ledger, on, cast }) =>
    ledger.taskCreate({
      ...on,
      task_id: `${cast.task}-${pick([1, 2, 3])}`,
      title: 'Neighbour',
      parent_task_id: cast.task,
    }),
  deleteTask: ({ ledger, on, cast }) => ledger.taskDelete({ ...on, task_id: `${cast.task}-3` }),
  list: ({ ledger, on }) => ledger.revisionList(on),
  listTasks: ({ ledger, on }) => ledger.taskList(on),
  get: ({ ledger, on }) => ledger.planGet(on),
};
const frequent = ['append', 'append', 'append', 'replace', 'edit', 'browserReplace', 'create', 'createTask'];

test('16 clients do everything to one task and its neighbours at random: no deadlock, no internal error, whole histories', async () => {
  const cast = await makeCast(db);
  const administrator = createLedger(db.admin);
  const agents = await Promise.all(
    Array.from({ length: 4 }, () =>
      administrator.principalCreate({ workspace_id: cast.workspace, kind: 'agent', task_id: cast.task }),
    ),
  );
  const app = await connect(db.url, { max: clients, applicationName: 'everything' });
  const ledger = createLedger(app);
  const succeeded = new Map<string, number>();
  const refused = new Map<string, number>();
  const unexpected: unknown[] = [];
  const end = Date.now() + durationMs;

  const client = async () => {
    while (Date.now() < end && unexpected.length === 0) {
      const name = pick([...frequent, ...Object.keys(operations)]);
      const task = pick([cast.task, cast.task, `${cast.task}-1`, `${cast.task}-2`, `${cast.task}-3`]);
      const call = { ledger, cast, on: { principal: pick(agents).id, task_id: task } };
      try {
        await operations[name]?.(call);
        succeeded.set(name, (succeeded.get(name) ?? 0) + 1);
      } catch (error) {
        const code = error instanceof PlanledgerError ? error.code : String(error);
        refused.set(code, (refused.get(code) ?? 0) + 1);
        if (!(error instanceof PlanledgerError) || !/^TP(4|503)/.test(String((error.cause as { code?: string })?.code)))
          unexpected.push({ name, error, cause: error instanceof Error ? error.cause : undefined });
        // These may never happen: nothing here breaks storage, and 15 s is a long wait.
        if (['plan_head_unavailable', 'plan_history_unavailable', 'plan_busy'].includes(code)) unexpected.push(error);
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: clients }, client));
  } finally {
    await app.end({ timeout: 5 });
  }

  expect(unexpected).toEqual([]);
  // Every operation must have had its way many times, or this says nothing.
  const rare = Object.keys(operations).filter((name) => (succeeded.get(name) ?? 0) < 10 && name !== 'appendOnce');
  expect(rare, JSON.stringify([Object.fromEntries(succeeded), Object.fromEntries(refused)])).toEqual([]);
  expect(await historyProblems(db.admin)).toEqual([]);
  const [statistics] = await db.admin`select deadlocks::int from pg_stat_database where datname = current_database()`;
  expect(statistics).toEqual({ deadlocks: 0 });

  const revisions = await ledgerRevisions(cast);
  expect(revisions.length).toBeGreaterThan(100);
});

/** Reads every revision of the task through the functions, which verify the recorded size. */
async function ledgerRevisions({ task, user }: Cast): Promise<string[]> {
  const listed = await db.ledger.revisionList({ principal: user, task_id: task, policy: 'browser' });
  return await Promise.all(
    listed.map(
      async ({ id }) => (await db.ledger.revisionGet({ principal: user, task_id: task, revision_id: id })).content,
    ),
  );
}
