import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { cli, expectMistake, succeed, useDatabases } from './process.ts';

const db = useDatabase();
const databases = useDatabases();
const env = () => ({ env: { DATABASE_URL: db.url } });

test('a workspace and a token are made, the token is printed once and works', async () => {
  const workspace = `w-${randomUUID()}`;
  expect(await succeed(['workspace', 'create', 'Mine', '--id', workspace], env())).toBe(`${workspace}\n`);
  const made = await cli(['token', 'create', '--workspace', workspace, '--name', 'Ann'], env());
  expect(made.code, made.stderr).toBe(0);
  expect(made.stdout).toMatch(/^plt_[0-9a-f]{64}\n$/);
  expect(made.stderr).toContain('does not expire');
  const token = made.stdout.trim();
  expect(made.stderr).not.toContain(token);
  const task = JSON.parse(await succeed(['task', 'create', 'T', '--token', token, '--json'], env()));
  expect(task.workspace_id).toBe(workspace);

  const listed = await succeed(['token', 'list', '--workspace', workspace], env());
  expect(listed).toMatch(/^ID +NAME +KIND +WORKSPACE +TASK +SCOPES +CREATED \(UTC\) +STATE\n/);
  expect(listed).toMatch(/ Ann +user .* works$/m);
  expect(listed).not.toContain(token);
  const [row, ...others] = JSON.parse(await succeed(['token', 'list', '--workspace', workspace, '--json'], env()));
  expect(others).toEqual([]);
  expect(await succeed(['token', 'revoke', row.id], env())).toMatch(`revoked ${row.id} (Ann) at `);
  expect(JSON.parse(await succeed(['token', 'revoke', row.id, '--json'], env()))).toMatchObject({ id: row.id });
  expectMistake(await cli(['task', 'list', '--token', token], env()), 1, 'unauthenticated');
  expect(await succeed(['token', 'list', '--workspace', workspace], env())).toMatch(/ revoked \d{4}-/);
});

test('kind, scopes, task and lifetime become those of the principal and the token', async () => {
  const { workspace, task } = await makeCast(db);
  const create = async (...more: string[]) =>
    JSON.parse(await succeed(['token', 'create', '--workspace', workspace, '--json', ...more], env()));
  const agent = await create('--kind', 'agent', '--task', task, '--name', 'Bot', '--expires-in', '30d');
  expect(agent).toMatchObject({ kind: 'agent', task_id: task, display_name: 'Bot' });
  expect(agent.session_id).toBeTruthy();
  const days = (Date.parse(agent.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(29);
  expect(days).toBeLessThan(31);
  expect(await create('--read-only')).toMatchObject({
    kind: 'user',
    scopes: ['plan:read', 'task:read'],
    expires_at: null,
  });
  expect(await create('--kind', 'service', '--scopes', 'plan:read,plan:write')).toMatchObject({
    kind: 'service',
    scopes: ['plan:read', 'plan:write'],
  });
});

test('a token that cannot be made leaves no principal behind', async () => {
  const { workspace } = await makeCast(db);
  const count = async () => Number((await db.admin`select count(*) as n from planledger.principals`)[0]?.n);
  const before = await count();
  const create = ['token', 'create', '--workspace', workspace];
  expectMistake(await cli([...create, '--expires-in', 'soon'], env()), 2, 'soon is not a length of time', '30d');
  expectMistake(await cli([...create, '--expires-in', '-1d'], env()), 1, 'validation_error', 'expires_in');
  expectMistake(await cli([...create, '--kind', 'robot'], env()), 1, 'validation_error', 'kind must be');
  expectMistake(await cli([...create, '--scopes', 'plan:write'], env()), 1, 'validation_error', 'plan:read');
  expectMistake(await cli([...create, '--kind', 'agent'], env()), 1, 'validation_error', 'task');
  expectMistake(await cli(['token', 'create', '--workspace', 'none'], env()), 1, 'no such workspace');
  expectMistake(await cli(['token', 'revoke', 'none'], env()), 1, 'no such token');
  expect(await count()).toBe(before);
});

test('migrate brings an empty database up to date once, and says what it did', async () => {
  const empty = { env: { DATABASE_URL: await databases.empty() } };
  expectMistake(await cli(['task', 'list', '--token', 'x'], empty), 1, 'database_not_migrated', 'planledger migrate');
  expect(await succeed(['migrate'], empty)).toMatch(/^Applied: migration 0001_.*, functions\.\n$/);
  expect(await succeed(['migrate'], empty)).toBe('The database is up to date.\n');
  expect(JSON.parse(await succeed(['migrate', '--json'], empty))).toEqual({ applied: [], functionsApplied: false });
});

test('migrate refuses a database that is not UTF8, with what to do', async () => {
  const latin = await databases.empty("encoding 'LATIN1' locale 'C' template template0");
  const result = await cli(['migrate'], { env: { DATABASE_URL: latin } });
  expectMistake(result, 1, 'database_unusable', 'LATIN1', "create database planledger encoding 'UTF8'");
});

test('a login without the right to administer is told which role it needs', async () => {
  const role = `weak_${randomUUID().slice(0, 8)}`;
  await db.admin.unsafe(`create role ${role} login password 'x' in role planledger_app`);
  try {
    const url = new URL(db.url);
    [url.username, url.password] = [role, 'x'];
    const weak = { env: { DATABASE_URL: url.href } };
    expectMistake(await cli(['token', 'list'], weak), 1, 'database_rights', 'planledger_owner');
    expectMistake(await cli(['task', 'list', '--token', 'x'], weak), 1, 'unauthenticated');
    url.password = 'wrong';
    const wrong = await cli(['task', 'list', '--token', 'x'], { env: { DATABASE_URL: url.href } });
    expectMistake(wrong, 1, 'database_login', 'user and password');
    expect(wrong.stderr).not.toContain('wrong@');
  } finally {
    await db.admin.unsafe(`drop role ${role}`);
  }
});
