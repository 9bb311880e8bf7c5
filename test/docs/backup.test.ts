import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect } from '../../src/postgres/connect.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { schemaSnapshot } from '../../src/postgres/schema-snapshot.ts';
import { databaseUrl } from '../support/database.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { launch } from '../surfaces/cli/process.ts';
import { executedBlocks } from './blocks.ts';

const db = useDatabase();
const blocks = await executedBlocks('docs/operations.md', 'sh');

const program = 'pg_dump';

/** The major version of the machine's `pg_dump`; 0 without one. The embedded PostgreSQL brings none. */
const dumpVersion = Number(
  / (\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '')?.[1] ?? 0,
);

test('the dump of the page, restored as the page says, is the same database', async () => {
  for (const { text, line } of blocks) {
    const parsed = spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' });
    expect(parsed.status, `docs/operations.md:${line} ${parsed.stderr}`).toBe(0);
  }
  const [row] = await db.admin`select current_setting('server_version_num')::integer / 10000 as version`;
  // pg_dump refuses a server that is newer than itself; then only the form of the commands can be checked.
  if (dumpVersion < row?.version) return;

  const { task, agent } = await makeCast(db);
  const content = '# Kept\n\n- [x] é 😀\n';
  const { version } = await db.ledger.planCreate({ principal: agent, task_id: task, content });
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'planledger-docs-'));
  const server = databaseUrl(inject('serverUrl'), 'postgres');
  const restoredUrl = databaseUrl(server, 'planledger_restored');
  onTestFinished(async () => {
    await rm(cwd, { recursive: true });
    await db.admin.unsafe('drop database if exists planledger_restored with (force)');
  });
  const env = { DATABASE_URL: db.url, NEW_SERVER_URL: server, RESTORED_URL: restoredUrl };
  for (const { text, line } of blocks) {
    // Here the new server is the old one, so that its roles are there already and psql says so.
    const { code, stderr } = await launch('sh', ['-c', text], { cwd, env }).ended;
    expect(code, `docs/operations.md:${line} ${stderr}`).toBe(0);
  }

  const restored = await connect(restoredUrl, { role: null, max: 1 });
  onTestFinished(() => restored.end({ timeout: 5 }));
  expect(await migrate(restoredUrl), 'nothing is left to migrate').toEqual({ applied: [], functionsApplied: false });
  expect(await schemaSnapshot(restored)).toBe(await schemaSnapshot(db.admin));
  const plan = await createLedger(restored).planGet({ principal: agent, task_id: task });
  expect(plan).toMatchObject({ content, version });
});
