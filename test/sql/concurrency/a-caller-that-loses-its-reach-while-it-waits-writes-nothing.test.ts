import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { argumentsOf, type Call } from '../calls.ts';
import { checkRefusal, failure, stored } from '../observe.ts';
import { age, makePlan, type Planned } from '../plans.ts';
import { closeSessions, openSession, type Session, until } from '../sessions.ts';

const db = useDatabase();
let holder: Session;
let caller: Session;

beforeAll(async () => {
  holder = await openSession(db, 'holder');
  caller = await openSession(db, 'caller');
  await holder.sql`set role none`;
});
afterAll(() => closeSessions(holder, caller));

/** What puts a task out of reach, in a transaction that makes every write of the task wait until it commits. */
const losses: Record<string, (cast: Planned) => Promise<unknown>> = {
  'its principal loses its scopes': async ({ task, agent, user }) => {
    await holder.sql`select pg_advisory_xact_lock(planledger.lock_key('plan', ${task}))`;
    await holder.sql`select from planledger.tasks t left join planledger.plans p on p.task_id = t.id
      where t.id = ${task} for update of t`;
    await holder.sql`select from planledger.plans where task_id = ${task} for update`;
    await holder.sql`update planledger.principals set scopes = '{plan:read,task:read}' where id = any (${[agent, user]})`;
  },
  'the task is made again in another workspace': async ({ task, user, session }) => {
    const other = await makeCast(db);
    await holder.ledger.taskDelete({ principal: user, task_id: task });
    await holder.ledger.taskCreate({ principal: other.user, task_id: task, title: 'Foreign' });
    await holder.sql`insert into planledger.task_sessions (id, task_id, name, agent_name)
      values (${session}, ${task}, 'Foreign', 'Foreign')`;
    await holder.ledger.planCreate({ principal: other.user, task_id: task, content: 'a' });
  },
};

/** What a DBA does by hand, past every lock. */
losses['the task is deleted by hand and made again in another workspace'] = async ({ task }) => {
  const other = await makeCast(db);
  await holder.sql`delete from planledger.tasks where id = ${task}`;
  await holder.ledger.taskCreate({ principal: other.user, task_id: task, title: 'Foreign' });
  await holder.ledger.planCreate({ principal: other.user, task_id: task, content: 'a' });
};

/** Every write of one task; that none is missing is checked below. */
const writes = [
  'attachmentStage',
  'commentCreate',
  'commentDelete',
  'commentUpdate',
  'messageAdd',
  'planAppend',
  'planCreate',
  'planDelete',
  'planEdit',
  'planMarkImplementationStarted',
  'planReplace',
  'planRestore',
  'planRevert',
  'queueAdd',
  'queueAppend',
  'queueAutoRunSet',
  'queueCancel',
  'queueDrain',
  'queueRemove',
  'queueReorder',
  'queueSendNow',
  'queueUpdate',
  'receiptDismiss',
  'receiptRetry',
  'sessionClose',
  'sessionCreate',
  'sessionSetPrimary',
  'sessionSetState',
  'taskArchive',
  'taskCreate',
  'taskDelete',
] as const satisfies (keyof Ledger)[];

test('every write of a task is here', () => {
  const found = Object.entries(signatures)
    .filter(
      ([, { writes, arguments: names }]) => writes && ['principal', 'task_id'].every((n) => names.includes(n as never)),
    )
    .map(([method]) => method);
  // A lease writes nothing, and is asked for again by what is done under it.
  expect(found.filter((method) => method !== 'admissionLease').sort()).toEqual([...writes]);
});

describe.each(Object.keys(losses))('%s', (how) => {
  const calls = writes.flatMap((method) =>
    signatures[method].arguments.includes('request_id' as never) ? [{ method, id: 'r-1' }, { method }] : [{ method }],
  );
  test.each(calls)('$method, request id $id', async ({ method, id }: { method: keyof Ledger; id?: string }) => {
    const cast = await makePlan(db, 'a');
    const below = { principal: cast.user, task_id: null, title: 'Below', parent_task_id: cast.task };
    const values = method === 'taskCreate' ? below : argumentsOf(method, cast, { title: 'Mine', request_id: id });

    await holder.begin();
    await losses[how]?.(cast);
    const waiting = failure((caller.ledger[method] as unknown as Call)(values));
    await until('the call waiting', async () => {
      const [row] = await db.admin`
        select from pg_stat_activity where pid = ${caller.pid} and ${holder.pid} = any (pg_blocking_pids(pid))`;
      return row;
    });
    await holder.commit();
    const before = await stored(db, cast.task);
    const error = await waiting;
    checkRefusal(error, cast.task, { code: 'task_unreachable', operation: signatures[method].operation });
    expect(Object.keys(error.details)).toEqual([]);
    expect(await stored(db, cast.task)).toEqual(before);
    expect(await db.admin`select from planledger.tasks where parent_task_id = ${cast.task}`).toHaveLength(0);
  });
});

const held = [
  'planReplace',
  'planAppend',
  'planEdit',
  'planDelete',
  'planRestore',
  'taskDelete',
] as const satisfies (keyof Ledger)[];

test.each(held)('once %s has the lock, its caller is not taken away until it has written', async (method) => {
  const cast = await makeCast(db);
  const { user, workspace, task: root } = cast;
  const administrator = createLedger(db.admin);
  const [task_id, own] = [`${root}-target`, `${root}-own`];
  for (const id of [task_id, own]) {
    await db.ledger.taskCreate({ principal: user, task_id: id, title: 'Leaf', parent_task_id: root });
  }
  const scopes = ['plan:read', 'plan:write', 'task:read', 'task:write'];
  const agentOn = (task: string) =>
    administrator.principalCreate({ workspace_id: workspace, kind: 'agent', task_id: task, scopes });
  const [agent, { session_id }] = [await agentOn(own), await agentOn(task_id)];
  const by = { principal: user, task_id };
  const created = await db.ledger.planCreate({ ...by, content: 'a' });
  const { revision_id } = created;
  const { version } = await db.ledger.planAppend({ principal: agent.id, task_id, fragment: 'b' });
  await age(db, task_id, '1 hour'); // so that the append has a revision of its own
  const { revision_version } = await db.ledger.revisionGet({ ...by, revision_id });
  const values = argumentsOf(
    method,
    { ...cast, task: task_id, created },
    {
      ...{ principal: agent.id, expected_version: version, expected_revision_version: revision_version },
    },
  );

  // The marker holds the rows of plan and session; the write has its lock and waits for them.
  await holder.begin();
  await holder.ledger.planMarkImplementationStarted({ ...by, session_id });
  const write = (caller.ledger[method] as unknown as Call)(values);
  const waits = (pid: number) =>
    until('a call waiting', async () => {
      const [row] = await db.admin`
        select from pg_stat_activity where pid = ${pid} and cardinality(pg_blocking_pids(pid)) > 0`;
      return row;
    });
  await waits(caller.pid);
  const remover = await openSession(db, 'remover');
  const order: string[] = [];
  const removal = remover.ledger.taskDelete({ principal: user, task_id: own }).then(() => order.push('removed'));
  await waits(remover.pid);
  await holder.commit();
  await write.then(() => order.push('written'));
  await removal;
  await closeSessions(remover);
  expect(order).toEqual(['written', 'removed']);
});
