import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { cli, succeed, useDatabases } from './process.ts';

const db = useDatabase();
const databases = useDatabases();

interface Report {
  ok: boolean;
  checks: { check: string; status: string; found: string; advice: string }[];
}

async function examine(url: string): Promise<{ code: number | null; report: Report; not: Report['checks'] }> {
  const { code, stdout, stderr } = await cli(['doctor', '--json'], { env: { DATABASE_URL: url } });
  expect(stderr).toBe('');
  const report: Report = JSON.parse(stdout);
  return { code, report, not: report.checks.filter(({ status }) => status !== 'ok') };
}

/** Breaks a database of its own with a statement, and answers what the doctor finds. */
async function broken(statement: string) {
  const url = await databases.migrated();
  const admin = await connect(url, { role: null, max: 1 });
  await admin.unsafe(statement);
  await admin.end();
  return await examine(url);
}

test('a healthy database: every line is ok, and the exit code 0', async () => {
  const text = await succeed(['doctor'], { env: { DATABASE_URL: db.url } });
  const lines = text.trimEnd().split('\n');
  expect(lines.pop()).toBe('All is well.');
  for (const line of lines) expect(line).toMatch(/^ok {4}\S/);
  for (const word of [
    'PostgreSQL 1',
    'UTF8',
    'migrations applied',
    'functions and',
    'planledger_app',
    'lock_timeout',
  ]) {
    expect(text).toContain(word);
  }
  const { report, code } = await examine(db.url);
  expect({ code, ok: report.ok }).toEqual({ code: 0, ok: true });
  expect(report.checks).toHaveLength(lines.length);
});

test.for([
  {
    what: 'a function whose body was changed by hand',
    breaks: `create or replace function planledger.content_max_bytes() returns integer language sql immutable parallel safe as 'select 1'`,
    check: 'functions',
    says: 'content_max_bytes differs from its file',
  },
  {
    what: 'a function that is gone',
    breaks: 'drop function planledger.plan_append',
    check: 'functions',
    says: 'plan_append is missing',
  },
  {
    what: 'a function that is not ours',
    breaks: `create function planledger.plan_steal() returns text language sql as 'select 1::text'`,
    check: 'strangers',
    says: "plan_steal is not Planledger's",
  },
  {
    what: 'an unpinned search_path',
    breaks: 'alter function planledger.plan_delete reset search_path',
    check: 'functions',
    says: 'plan_delete has another search_path',
  },
  {
    what: 'a function anybody may execute',
    breaks: 'grant execute on function planledger.token_create to public',
    check: 'execution',
    says: 'public may execute token_create',
  },
  {
    what: "an administrator's function the application may execute",
    breaks: 'grant execute on function planledger.principal_create to planledger_app',
    check: 'execution',
    says: 'planledger_app may execute principal_create',
  },
  {
    what: "a function of somebody else's",
    breaks: 'alter function planledger.plan_get owner to current_user',
    check: 'execution',
    says: 'plan_get belongs to ',
  },
  {
    what: 'a migration that is not applied',
    breaks: `delete from planledger.migrations where name = '0003_events'`,
    check: 'schema',
    says: 'migration 0003_events is not applied',
  },
  {
    what: 'functions of another version',
    breaks: `update planledger.installed set functions_sha256 = 'x'`,
    check: 'schema',
    says: 'not those of this program',
  },
  {
    what: 'a newer program',
    breaks: `update planledger.installed set program_version = '99.0.0'`,
    check: 'schema',
    says: 'newer than this program',
  },
  {
    what: 'a table the application may write',
    breaks: 'grant insert on planledger.plan_segments to planledger_app',
    check: 'privileges',
    says: 'planledger_app may use plan_segments',
  },
  {
    what: 'a schema others may create in',
    breaks: 'grant create on schema planledger to public',
    check: 'ownership',
    says: 'everybody may create objects in the schema',
  },
  {
    what: 'a disabled trigger',
    breaks: 'alter table planledger.tasks disable trigger segments_go_with_task',
    check: 'integrity',
    says: 'segments_go_with_task of planledger.tasks is disabled',
  },
  {
    what: 'the rule of reach switched off in its view',
    breaks: `create or replace view planledger.admissions as
      select p.id as principal_id, t.id as task_id, p.scopes, 'user'::text as author_kind, 'x'::text as author_name
      from planledger.principals p, planledger.tasks t`,
    check: 'views',
    says: 'admissions differs from its file',
  },
  {
    what: 'a column the application may read',
    breaks: 'grant select (body) on planledger.plan_segments to planledger_app',
    check: 'privileges',
    says: 'planledger_app may use plan_segments (body)',
  },
  {
    what: 'a trigger that is gone',
    breaks: 'drop trigger segments_go_with_task on planledger.tasks',
    check: 'structure',
    says: 'segments_go_with_task',
  },
  {
    what: 'a foreign key that is gone',
    breaks: 'alter table planledger.plans drop constraint plans_task_id_revision_number_fkey',
    check: 'structure',
    says: 'constraint plans_task_id_revision_number_fkey',
  },
  {
    what: 'a table that a crash would empty',
    breaks: 'alter table planledger.plan_requests set unlogged',
    check: 'structure',
    says: 'table plan_requests',
  },
  {
    what: 'row security',
    breaks: 'alter table planledger.plans enable row level security, force row level security',
    check: 'structure',
    says: 'table plans',
  },
  {
    what: 'a function made strict',
    breaks: 'alter function planledger.plan_append strict',
    check: 'functions',
    says: 'plan_append is strict',
  },
  {
    what: 'a function without its lock_timeout',
    breaks: 'alter function planledger.lock_wait reset lock_timeout',
    check: 'functions',
    says: 'lock_wait has other settings',
  },
  {
    what: "somebody else's job queue",
    breaks: 'alter schema planledger_jobs owner to current_user',
    check: 'job queue',
    says: 'planledger_jobs belongs to ',
  },
])('$what fails, says what to do, and nothing else is blamed', async ({ breaks, check, says }) => {
  const { code, report, not } = await broken(breaks);
  expect(code).toBe(1);
  expect(report.ok).toBe(false);
  expect(not).toMatchObject([{ check, status: 'fail', found: expect.stringContaining(says) }]);
  expect(not[0]?.advice).not.toBe('');
});

test('what was added by hand is shown, as a warning', async () => {
  const { code, not } = await broken(`
    create rule nothing as on insert to planledger.plan_requests do also select 1;
    create index on planledger.events (task_id)`);
  expect(code).toBe(0);
  expect(not).toMatchObject([
    { check: 'structure', status: 'warn', found: expect.stringMatching(/rule nothing.*|events_task_id_idx/) },
  ]);
});

test('that no worker runs is said once events should have been pruned', async () => {
  const { code, not } = await broken(`
    insert into planledger.events (task_id, kind, created_at) values ('t', 'task.created', now() - interval '2 hours')`);
  expect(code).toBe(0);
  expect(not).toMatchObject([{ check: 'pruning', status: 'warn', found: 'events were never pruned' }]);
  expect(not[0]?.advice).toContain('`planledger worker`');
});

test('a broken function is put back as the doctor says', async () => {
  const url = await databases.migrated();
  const admin = await connect(url, { role: null, max: 1 });
  await admin`drop function planledger.plan_append`;
  expect((await examine(url)).not[0]?.advice).toContain('delete from planledger.installed;');
  await admin`delete from planledger.installed`;
  await admin.end();
  await succeed(['migrate'], { env: { DATABASE_URL: url } });
  expect((await examine(url)).code).toBe(0);
});

test('a database without Planledger, and one that does not answer, are told apart', async () => {
  const empty = await examine(await databases.empty());
  expect(empty).toMatchObject({ code: 1, not: [{ check: 'schema', advice: 'Run `planledger migrate`.' }] });
  const gone = await examine('postgres://u:secret@127.0.0.1:1/none');
  expect(gone).toMatchObject({ code: 1, report: { checks: [{ check: 'database', status: 'fail' }] } });
  expect(JSON.stringify(gone.report)).not.toContain('secret');
});

test('a lock that is held long is named with its task and how to end it, as a warning', async () => {
  const { task, user } = await makeCast(db);
  const holder = await connect(db.url, { role: null, max: 1 });
  try {
    await holder`begin`;
    const ledger = createLedger(holder);
    await ledger.planCreate({ principal: user, task_id: task, content: 'x' });
    await db.admin`select from planledger.settings_change(p_lock_wait => interval '1 second')`;
    await delay(1_100);
    const { code, not } = await examine(db.url);
    expect(code).toBe(0);
    expect(not).toMatchObject([{ check: 'locks', status: 'warn' }]);
    expect(not[0]?.found).toContain(`holds the plan lock of task ${task}`);
    expect(not[0]?.advice).toContain('pg_terminate_backend');
  } finally {
    await holder.end({ timeout: 1 });
  }
});

test('prompts that wait for a person are counted by state, with the page about them, as a warning', async () => {
  const url = await databases.migrated();
  const admin = await connect(url, { role: null, max: 1 });
  const ledger = createLedger(admin);
  try {
    const { task, user } = await makeCast({ ...db, admin });
    const on = { principal: user, task_id: task, session_id: 's' };
    await ledger.sessionCreate({ ...on, name: 's', transport: 'webhook' });
    for (const id of ['a', 'b']) await ledger.queueAdd({ ...on, client_queue_id: id, content: 'x' });
    expect((await examine(url)).not).toEqual([]);
    await ledger.sessionClose(on);
    const { code, not } = await examine(url);
    expect(code).toBe(0);
    expect(not).toMatchObject([{ check: 'deliveries', status: 'warn', found: '2 failed' }]);
    expect(not[0]?.advice).toContain('docs/deliveries.md');
  } finally {
    await admin.end();
  }
});

test('settings that a PgBouncer would take away are found missing, with the statement that sets them', async () => {
  const role = `bouncer_${Date.now()}`;
  await db.admin.unsafe(`create role ${role} login password 'x' in role planledger_app, planledger_owner`);
  try {
    const url = new URL(db.url);
    [url.username, url.password] = [role, 'x'];
    const run = () => cli(['doctor'], { env: { DATABASE_URL: url.href, PLANLEDGER_PGBOUNCER: '1' } });
    const before = await run();
    expect(before.code).toBe(1);
    for (const line of [
      `alter role ${role} set client_connection_check_interval = '1s';`,
      `alter role ${role} set idle_in_transaction_session_timeout = '60000ms';`,
      `alter role ${role} set lock_timeout = '15000ms';`,
    ]) {
      expect(before.stdout).toContain(line);
      await db.admin.unsafe(line);
    }
    const after = await run();
    expect(after, after.stdout).toMatchObject({ code: 0 });
    await db.admin.unsafe(`alter role ${role} set default_transaction_isolation = 'serializable'`);
    expect((await run()).stdout).toMatch(/^fail +isolation +serializable$/m);
  } finally {
    await db.admin.unsafe(`drop role ${role}`);
  }
});

test('a login that is only the application gets what it cannot see as warnings', async () => {
  const role = `app_${Date.now()}`;
  await db.admin.unsafe(`create role ${role} login password 'x' in role planledger_app`);
  try {
    const url = new URL(db.url);
    [url.username, url.password] = [role, 'x'];
    const { code, not } = await examine(url.href);
    expect(code).toBe(0);
    const advice = expect.stringContaining('planledger_owner');
    expect(not).toMatchObject(
      ['views', 'locks', 'jobs', 'deliveries'].map((check) => ({ check, status: 'warn', advice })),
    );
  } finally {
    await db.admin.unsafe(`drop role ${role}`);
  }
});
