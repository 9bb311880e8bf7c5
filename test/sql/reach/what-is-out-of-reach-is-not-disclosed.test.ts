import { beforeAll, describe, expect, test } from 'vitest';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { argumentsOf, type Call } from '../calls.ts';
import { canary, checkRefusal, failure, stored } from '../observe.ts';
import { makePlan, type Planned } from '../plans.ts';

const db = useDatabase();

const reading = [
  'commentList',
  'planGet',
  'revisionList',
  'revisionGet',
  'taskGet',
] as const satisfies (keyof Ledger)[];
const writing = [
  'commentCreate',
  'commentUpdate',
  'commentDelete',
  'planCreate',
  'planReplace',
  'planAppend',
  'planEdit',
  'planRestore',
  'planRevert',
  'planDelete',
  'planMarkImplementationStarted',
] as const satisfies (keyof Ledger)[];
const ofTasks = ['taskArchive', 'taskDelete'] as const satisfies (keyof Ledger)[];
const every = [...reading, ...writing, ...ofTasks];

let target: Planned;
let stranger: Planned;
const principals: Record<string, string> = {};

beforeAll(async () => {
  target = await makePlan(db, `${canary} text`, `${canary} title`);
  stranger = await makePlan(db, 'other');
  const administrator = createLedger(db.admin);
  const { workspace, task, user } = target;
  const make = async (kind: string, scopes?: string[], task_id?: string) =>
    (await administrator.principalCreate({ workspace_id: workspace, kind, scopes, task_id })).id;
  const apart = `${task}-apart`;
  await db.ledger.taskCreate({ principal: user, task_id: apart, title: 'Another tree' });
  Object.assign(principals, {
    "another workspace's user": stranger.user,
    "another workspace's agent": stranger.agent,
    "another workspace's service": stranger.service,
    'an agent of another tree': await make('agent', undefined, apart),
    'a principal that does not exist': crypto.randomUUID(),
    'a user without rights': await make('user', []),
    'a reader of plans': await make('user', ['plan:read']),
    'a writer of plans': await make('agent', ['plan:read', 'plan:write'], task),
    'a writer of tasks': await make('service', ['task:read', 'task:write']),
  });
});

/** A call that would succeed if the task could be reached. */
function call(method: keyof Ledger, principal: string, task_id: string): Promise<unknown> {
  const texts = { content: canary, fragment: canary, old_text: 'text', new_text: canary, body: canary };
  const comment = { selected_text: canary, comment_id: '6f1d3b9e-0c1f-4a52-9a3d-2f6f0a3f9c11' };
  const values = argumentsOf(method, target, { principal, task_id, ...texts, ...comment });
  return (db.ledger[method] as unknown as Call)(values);
}

const refused: [string, readonly (keyof Ledger)[]][] = [
  ["another workspace's user", every],
  ["another workspace's agent", every],
  ["another workspace's service", every],
  ['an agent of another tree', every],
  ['a principal that does not exist', every],
  ['a user without rights', every],
  ['a reader of plans', [...writing, ...ofTasks, 'taskGet']],
  ['a writer of plans', [...ofTasks, 'taskGet']],
  ['a writer of tasks', [...writing, 'commentList', 'planGet', 'revisionList', 'revisionGet']],
];

describe.each(refused)('%s', (who, methods) => {
  test.each(methods)('%s answers as for a task that does not exist, and changes nothing', async (method) => {
    const principal = principals[who] ?? expect.unreachable(who);
    const before = await stored(db, target.task);
    const error = await failure(call(method, principal, target.task));
    checkRefusal(error, target.task, { code: 'task_unreachable', operation: signatures[method].operation });
    const absent = `${target.task.slice(0, -1)}X`;
    const unknown = await failure(call(method, principal, absent));
    const same = JSON.stringify(unknown.toJSON()).replaceAll(absent, target.task);
    expect(JSON.stringify(error.toJSON())).toBe(same);
    const where = (of: typeof error) => (of.cause as { where?: string }).where;
    expect(where(error)).toBe(where(unknown));
    expect(await stored(db, target.task)).toEqual(before);
  });
});

test('an agent reaches the whole tree of its task, upwards and downwards, and no other', async () => {
  const cast = await makePlan(db, 'root');
  const user = { principal: cast.user };
  const [child, sibling, grandchild] = ['child', 'sibling', 'grandchild'].map((name) => `${cast.task}-${name}`);
  const under = (task_id = '', parent_task_id = cast.task) =>
    db.ledger.taskCreate({ ...user, task_id, title: task_id, parent_task_id });
  await under(child);
  await under(sibling);
  await under(grandchild, child);
  const { id } = await createLedger(db.admin).principalCreate({
    workspace_id: cast.workspace,
    kind: 'agent',
    task_id: child,
  });
  for (const task_id of [child, sibling, grandchild]) {
    await db.ledger.planCreate({ principal: id, task_id: task_id ?? '', content: 'reached' });
  }
  await db.ledger.planAppend({ principal: id, task_id: cast.task, fragment: 'reached' });
  const apart = await db.ledger.taskCreate({ ...user, task_id: `${cast.task}-apart`, title: 'Another tree' });
  expect(await failure(db.ledger.planGet({ principal: id, task_id: apart.id }))).toMatchObject({
    code: 'task_unreachable',
  });
  const listed = await db.ledger.taskList({ principal: id });
  expect(listed.map((task) => task.id).sort()).toEqual([cast.task, child, grandchild, sibling].sort());
  await db.ledger.planCreate({ ...user, task_id: apart.id, content: 'a' });
  for (const principal of [cast.user, cast.service]) {
    expect(await db.ledger.planGet({ principal, task_id: apart.id })).toMatchObject({ content: 'a' });
  }
});

test('a reader of plans reads, a writer of plans writes, a writer of tasks archives', async () => {
  const reader = principals['a reader of plans'] ?? '';
  for (const method of ['planGet', 'revisionList', 'revisionGet'] as const) {
    await expect(call(method, reader, target.task)).resolves.toBeDefined();
  }
  const own = await makePlan(db, 'a');
  const administrator = createLedger(db.admin);
  const make = async (scopes: string[]) =>
    (await administrator.principalCreate({ workspace_id: own.workspace, kind: 'user', scopes })).id;
  const writer = await make(['plan:read', 'plan:write']);
  await db.ledger.planAppend({ principal: writer, task_id: own.task, fragment: 'b' });
  const keeper = await make(['task:read', 'task:write']);
  await db.ledger.taskArchive({ principal: keeper, task_id: own.task });
});

test('no list shows a task out of reach', async () => {
  const listed = await db.ledger.taskList({ principal: stranger.user });
  expect(listed.map(({ id }) => id)).toEqual([stranger.task]);
});

test('an agent that names no task above a new one is told to, and one without the right is not', async () => {
  const cast = await makePlan(db, 'a');
  const top = { task_id: null, title: 'Top' };
  expect(await failure(db.ledger.taskCreate({ ...top, principal: cast.agent }))).toMatchObject({
    code: 'validation_error',
    taskId: null,
    nextAction: 'Correct parent_task_id and call again.',
    details: { argument: 'parent_task_id' },
  });
  const { id: reader } = await createLedger(db.admin).principalCreate({
    ...{ workspace_id: cast.workspace, kind: 'agent', task_id: cast.task, scopes: ['plan:read', 'task:read'] },
  });
  for (const principal of [reader, crypto.randomUUID()]) {
    const error = await failure(db.ledger.taskCreate({ ...top, principal }));
    expect(error).toMatchObject({ code: 'task_unreachable', taskId: null });
  }
  const below = await db.ledger.taskCreate({ ...top, principal: cast.agent, parent_task_id: cast.task });
  expect(below).toMatchObject({ workspace_id: cast.workspace, parent_task_id: cast.task });
});
