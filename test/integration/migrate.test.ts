import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { expect, inject, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect } from '../../src/postgres/connect.ts';
import { installationState, MigrationError, migrate } from '../../src/postgres/migrate.ts';
import { schemaSnapshot } from '../../src/postgres/schema-snapshot.ts';
import { databaseUrl, emptyDatabase, freshDatabase } from '../support/database.ts';

const dbDir = fileURLToPath(new URL('../../db/', import.meta.url));
const server = () => inject('serverUrl');

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function snapshot(url: string): Promise<string> {
  const sql = await connect(url, { role: null, max: 1 });
  try {
    return await schemaSnapshot(sql);
  } finally {
    await sql.end();
  }
}

test('a fresh database is migrated once, and again nothing happens', async () => {
  const url = await emptyDatabase(server());
  const first = await migrate(url);
  expect(first).toEqual({
    applied: [
      '0001_tasks_and_access',
      '0002_plans',
      '0003_events',
      '0004_settings_in_seconds',
      '0005_comments',
      '0006_event_snapshots',
      '0007_settings_keep_row',
      '0008_sessions',
      '0009_delivery',
      '0010_agents',
    ],
    functionsApplied: true,
  });
  expect(await migrate(url)).toEqual({ applied: [], functionsApplied: false });
});

test('ten processes that start together migrate once', async () => {
  const url = await emptyDatabase(server());
  const module = fileURLToPath(new URL('../../src/postgres/migrate.ts', import.meta.url));
  const code = `const { migrate } = await import(${JSON.stringify(module)});
    console.log(JSON.stringify(await migrate(process.argv[1])));`;
  const reports = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', code, url]);
      const chunks: Buffer[] = [];
      const errors: Buffer[] = [];
      child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
      child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
      const [exit] = await once(child, 'close');
      expect(exit, Buffer.concat(errors).toString()).toBe(0);
      return JSON.parse(Buffer.concat(chunks).toString());
    }),
  );
  expect(reports.filter(({ functionsApplied }) => functionsApplied)).toHaveLength(1);
  expect(reports.filter(({ applied }) => applied.length > 0)).toHaveLength(1);
});

test('an upgrade from each earlier state, with rows in it, ends where a fresh install does', async () => {
  const files = (await readdir(path.join(dbDir, 'migrations'))).sort();
  const fresh = await snapshot(await freshDatabase(server()));
  for (let count = 1; count < files.length; count += 1) {
    const url = await emptyDatabase(server());
    await withClient(url, async (client) => {
      await client.query(await readFile(path.join(dbDir, 'roles.sql'), 'utf8'));
      await client.query('set role planledger_owner');
      await client.query(
        'create table planledger.migrations (id serial primary key, name varchar(255) not null, run_on timestamp not null)',
      );
      for (const file of files.slice(0, count)) {
        await client.query(await readFile(path.join(dbDir, 'migrations', file), 'utf8'));
        await client.query('insert into planledger.migrations (name, run_on) values ($1, now())', [
          path.parse(file).name,
        ]);
      }
      await client.query("insert into planledger.workspaces (id, name) values ('old', 'Old')");
      await client.query('alter table planledger.tasks disable trigger task_place_new');
      await client.query(
        "insert into planledger.tasks (id, workspace_id, root_task_id, title) values ('old-1', 'old', 'old-1', 'Old')",
      );
      await client.query('alter table planledger.tasks enable trigger task_place_new');
      if (count >= 4) return;
      await client.query(
        "update planledger.settings set coalesce_window = '-1 hour', lock_wait = '1 year -360 days 5 minutes'",
      );
    });
    const report = await migrate(url);
    expect(report.applied).toHaveLength(files.length - count);
    expect(await snapshot(url)).toBe(fresh);

    const sql = await connect(url, { role: null, max: 1 });
    const ledger = createLedger(sql);
    const settings = await ledger.settingsChange({});
    if (count < 4) expect(settings).toEqual({ coalesce_window: '00:00:00', lock_wait: '00:10:00' });
    const { id } = await ledger.principalCreate({ workspace_id: 'old', kind: 'user' });
    await ledger.planCreate({ principal: id, task_id: 'old-1', content: 'still here' });
    expect((await ledger.planGet({ principal: id, task_id: 'old-1' }))?.content).toBe('still here');
    await sql.end();
  }
});

test('functions whose file changed are applied again, with a changed signature too, and strange ones go', async () => {
  const url = await freshDatabase(server());
  const before = await snapshot(url);
  await withClient(url, async (client) => {
    await client.query('set role planledger_owner');
    await client.query('drop function planledger.task_get(uuid, text)');
    await client.query(
      "create function planledger.task_get(p_principal uuid, p_task text) returns text language sql as 'select 1::text'",
    );
    await client.query(
      "create function planledger.plan_get(p_principal uuid, p_task_id text, p_more text) returns text language sql as 'select 1::text'",
    );
    await client.query("create function planledger.left_over() returns text language sql as 'select 1::text'");
    await client.query('grant execute on function planledger.workspace_create(text, text) to planledger_app, public');
    await client.query('grant execute on function planledger.plan_get(uuid, text) to planledger_reader');
    await client.query("update planledger.installed set functions_sha256 = 'old'");
  });
  expect(await migrate(url)).toEqual({ applied: [], functionsApplied: true });
  expect(await snapshot(url)).toBe(before);
});

test('a job queue that was dropped is made again', async () => {
  const url = await freshDatabase(server());
  await withClient(url, (client) => client.query('drop schema planledger_jobs cascade'));
  expect(await migrate(url)).toEqual({ applied: [], functionsApplied: true });
  await withClient(url, (client) => client.query("select planledger_jobs.add_job('prune')"));
  expect(await migrate(url)).toEqual({ applied: [], functionsApplied: false });
});

test('a database that is not UTF8 is refused and left alone', async () => {
  const url = await emptyDatabase(server(), "encoding 'LATIN1' locale_provider 'libc' locale 'C' template template0");
  await expect(migrate(url)).rejects.toThrow(/LATIN1.*UTF8.*create database/s);
  const schemas = await withClient(url, (client) =>
    client.query("select from pg_namespace where nspname = 'planledger'"),
  );
  expect(schemas.rowCount).toBe(0);
});

test('a database migrated by a newer program is refused and left alone', async () => {
  const url = await freshDatabase(server());
  const before = await snapshot(url);
  await withClient(url, (client) => client.query("update planledger.installed set program_version = '99.0.0'"));
  await expect(migrate(url)).rejects.toThrow(/99\.0\.0, newer than this program/);
  await withClient(url, async (client) => {
    await client.query("update planledger.installed set program_version = '0.0.1'");
    await client.query("insert into planledger.migrations (name, run_on) values ('9999_later', now())");
  });
  await expect(migrate(url)).rejects.toBeInstanceOf(MigrationError);
  expect(await snapshot(url)).toBe(before);
});

test('a failure in the middle leaves the functions as they were', async () => {
  const url = await freshDatabase(server());
  const before = await snapshot(url);
  await withClient(url, async (client) => {
    await client.query("update planledger.installed set functions_sha256 = 'old'");
    // Somebody else's view depends on one of ours, so it cannot be replaced under them.
    await client.query('create table public.mine (body text default planledger.white_space())');
    await client.query('alter function planledger.white_space() owner to current_user');
  });
  await expect(migrate(url)).rejects.toThrow(/white_space/);
  await withClient(url, (client) => client.query('alter function planledger.white_space() owner to planledger_owner'));
  expect(await snapshot(url)).toBe(before);
});

test('a login with CREATEROLE and CREATE on the database may migrate; one without is told what a DBA must run', async () => {
  const url = await emptyDatabase(server());
  const name = new URL(url).pathname.slice(1);
  await withClient(databaseUrl(server(), 'postgres'), async (client) => {
    await client.query(`create role ${name}_plain login password 'p'`);
    await client.query(`create role ${name}_dba login createrole password 'p'`);
    await client.query(`grant create on database ${name} to ${name}_dba`);
    await client.query(`grant planledger_owner, planledger_app, planledger_worker to ${name}_dba with admin option`);
  });
  const as = (login: string) => {
    const changed = new URL(url);
    changed.username = login;
    changed.password = 'p';
    return changed.href;
  };
  const refusal = await migrate(as(`${name}_plain`)).catch((error: Error) => error.message);
  expect(refusal).toMatch(/A DBA must run once.*grant planledger_owner/s);
  expect((await migrate(as(`${name}_dba`))).applied).toHaveLength(10);
  // And the statements that it was told are enough.
  const other = await emptyDatabase(server());
  await withClient(other, async (client) => {
    for (const statement of String(refusal).match(/^ {2}(grant|create schema) .*;$/gm) ?? [])
      await client.query(statement);
  });
  const asPlain = new URL(other);
  asPlain.username = `${name}_plain`;
  asPlain.password = 'p';
  expect((await migrate(asPlain.href)).applied).toHaveLength(10);
  await withClient(databaseUrl(server(), 'postgres'), (client) =>
    client.query(`drop database ${new URL(other).pathname.slice(1)} with (force)`),
  );
  await withClient(databaseUrl(server(), 'postgres'), async (client) => {
    await client.query(`drop database ${name} with (force)`);
    await client.query(`drop role ${name}_plain, ${name}_dba`);
  });
});

test('the application role sees whether the database is current', async () => {
  const url = await freshDatabase(server());
  const app = await connect(url, { max: 1 });
  expect(await installationState(await createLedger(app).installation({}))).toEqual({ current: true, problems: [] });
  await withClient(url, (client) => client.query("update planledger.installed set functions_sha256 = 'old'"));
  expect(await installationState(await createLedger(app).installation({}))).toEqual({
    current: false,
    problems: ["the database's functions are not those of this program"],
  });
  await app.end();
});
