import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { caller, connectHttp, connectStdio, fields, startHttp, texts, tokenFor, toolNames } from './clients.ts';

const db = useDatabase();

async function principalWith(workspace_id: string, scopes: string[]) {
  return createLedger(db.admin).principalCreate({ workspace_id, kind: 'service', scopes });
}

test('a read-only token sees the readers, and calling a writer anyway is refused and writes nothing', async () => {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'kept' });
  const before = await db.ledger.planGet({ principal: cast.agent, task_id: cast.task });
  const reader = await principalWith(cast.workspace, ['plan:read']);
  const { token } = await tokenFor(db, reader.id);
  const { url } = await startHttp(db);
  for (const client of [await connectHttp(url, token), await connectStdio(db.url, token)]) {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([toolNames.get, toolNames.list, toolNames.get_revision]);
    const call = caller(client);
    expect(texts(await call('get', { task_id: cast.task }))[1]).toBe('kept');
    const calls: [string, Record<string, unknown>][] = [
      ['create', { content: 'x' }],
      ['update', { content: 'x', mode: 'append' }],
      ['update', { content: 'x', expected_version: before?.version }],
      ['edit', { expected_version: before?.version, old_text: 'kept', new_text: 'x' }],
      ['restore', { revision_id: before?.revision_id, expected_version: 'v', expected_revision_version: 'v' }],
      ['delete', {}],
    ];
    for (const [tool, args] of calls) {
      const result = await call(tool, { task_id: cast.task, ...args });
      expect(result.isError, tool).toBe(true);
      expect(fields(result), tool).toMatchObject({ code: 'task_unreachable', write_applied: false });
      expect(fields(result), tool).not.toHaveProperty('current_version');
    }
  }
  expect(await db.ledger.planGet({ principal: cast.agent, task_id: cast.task })).toEqual(before);
});

test('a token without plan rights sees no tool and reads no plan', async () => {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'secret' });
  const none = await principalWith(cast.workspace, ['task:read']);
  const { url } = await startHttp(db);
  const client = await connectHttp(url, (await tokenFor(db, none.id)).token);
  expect((await client.listTools()).tools).toEqual([]);
  const result = await caller(client)('get', { task_id: cast.task });
  expect(fields(result)).toMatchObject({ code: 'task_unreachable' });
  expect(JSON.stringify(result)).not.toContain('secret');
});

test('only an agent may leave task_id out, and a task id never changes who is calling', async () => {
  const cast = await makeCast(db);
  const other = await makeCast(db);
  const { url } = await startHttp(db);
  const service = caller(await connectHttp(url, (await tokenFor(db, cast.service)).token));
  expect(fields(await service('get'))).toMatchObject({ code: 'validation_error', argument: 'task_id', task_id: null });

  const agent = caller(await connectHttp(url, (await tokenFor(db, cast.agent)).token));
  const sibling = await createLedger(db.admin).taskCreate({ principal: cast.user, task_id: null, title: 'Sibling' });
  for (const task_id of [other.task, sibling.id, 'no such task']) {
    const result = await agent('update', { task_id, content: 'x', mode: 'append' });
    expect(fields(result), task_id).toMatchObject({ code: 'task_unreachable', task_id });
  }
  const child = await db.ledger.taskCreate({
    principal: cast.agent,
    task_id: null,
    title: 'Child',
    parent_task_id: cast.task,
  });
  await agent('create', { task_id: child.id, content: 'for the child' });
  const listed = fields(await agent('list', { task_id: child.id })).revisions;
  expect(listed).toMatchObject([{ author_kind: 'agent', author_name: 'Bot' }]);
});

test("a user's token has the agent rules here", async () => {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'x'.repeat(2000) });
  const { url } = await startHttp(db);
  const call = caller(await connectHttp(url, (await tokenFor(db, cast.user)).token));
  const task_id = cast.task;
  expect(fields(await call('update', { task_id, content: 'short' }))).toMatchObject({ code: 'plan_version_required' });
  const { version } = JSON.parse(texts(await call('get', { task_id }))[0] ?? '');
  const refused = await call('update', { task_id, content: 'short', expected_version: version });
  expect(fields(refused)).toMatchObject({ code: 'plan_truncation_rejected', current_chars: 2000, new_chars: 5 });
  expect(texts(await call('get', { task_id }))[1]).toBe('x'.repeat(2000));
});

test('over stdio a token is looked up at each call: revoked, it stops at the next', async () => {
  const cast = await makeCast(db);
  const { id, token } = await tokenFor(db, cast.agent);
  const client = await connectStdio(db.url, token);
  const call = caller(client);
  expect((await call('create', { content: 'kept' })).isError).toBeFalsy();
  await createLedger(db.admin).tokenRevoke({ token_id: id });
  const result = await call('update', { content: 'more', mode: 'append' });
  expect(result.isError).toBe(true);
  expect(fields(result)).toMatchObject({ code: 'unauthenticated', write_applied: false });
  await expect(client.listTools({}, { cacheMode: 'refresh' })).rejects.toThrow(/token/);
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe('kept');
});

test('a failure inside is logged with its SQLSTATE and ids, and shows and logs no text', async () => {
  const cast = await makeCast(db);
  const { url, logged } = await startHttp(db);
  const call = caller(await connectHttp(url, (await tokenFor(db, cast.agent)).token));
  await db.admin`revoke execute on function planledger.plan_append(uuid, text, text, text, text, boolean, text) from planledger_app`;
  try {
    const result = await call('update', { content: 'a secret', mode: 'append' });
    expect(result.isError).toBe(true);
    expect(fields(result)).toMatchObject({ code: 'internal_error', operation: 'append', task_id: cast.task });
    expect(JSON.stringify(result)).not.toMatch(/permission|plan_append|42501|secret/);
  } finally {
    await db.admin`grant execute on function planledger.plan_append(uuid, text, text, text, text, boolean, text) to planledger_app`;
  }
  const lines = logged.filter((line) => line.includes('call failed'));
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 50, sqlstate: '42501', task_id: cast.task });
  expect(lines[0]).not.toContain('secret');
});
