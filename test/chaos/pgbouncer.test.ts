import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { PlanledgerError } from '../../src/ledger/errors.ts';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { failure, stored } from '../sql/observe.ts';
import { type Cast, makeCast, useDatabase } from '../support/fixture.ts';
import { cli, expectMistake } from '../surfaces/cli/process.ts';
import { type FaultyNetwork, openFaultyNetwork } from './support/faulty-network.ts';
import { historyProblems } from './support/history.ts';
import { holdPlanLock } from './support/locks.ts';
import { type PgBouncer, pgbouncerProgram, startPgBouncer } from './support/pgbouncer.ts';
import { startWorker } from './support/processes.ts';

// A newcomer's machine may lack PgBouncer; continuous integration may not.
const required = process.env.PLANLEDGER_REQUIRE_PGBOUNCER === '1';

describe.runIf(pgbouncerProgram !== undefined || required)('through PgBouncer in transaction mode', () => {
  const db = useDatabase();
  const login = `login_${randomBytes(6).toString('hex')}`;
  let network: FaultyNetwork;
  let bouncer: PgBouncer;
  let sql: Sql;
  let ledger: Ledger;

  beforeAll(async () => {
    const password = randomBytes(12).toString('hex');
    await db.admin.unsafe(`create role ${login} login password '${password}' in role planledger_app`);
    await db.admin.unsafe(`alter role ${login} set client_connection_check_interval = '1s'`);
    await db.admin.unsafe(`alter role ${login} set idle_in_transaction_session_timeout = '60s'`);
    await db.admin.unsafe(`alter role ${login} set lock_timeout = '15s'`);
    network = await openFaultyNetwork(db.url);
    bouncer = await startPgBouncer({
      login,
      password,
      databases: { near: db.url, far: network.url },
      poolSize: 2,
    });
    sql = await connect(bouncer.url('near'), { max: 6 });
    ledger = createLedger(sql);
  });
  afterAll(async () => {
    await sql?.end({ timeout: 1 });
    await bouncer?.stop();
    await network?.close();
    await db.admin.unsafe(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${login}'`);
    await db.admin.unsafe(`drop role if exists ${login}`);
  });

  const makePlan = async (): Promise<Cast> => {
    const cast = await makeCast(db);
    await ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'start' });
    return cast;
  };
  const contentOf = async ({ task, agent }: Cast) =>
    (await db.ledger.planGet({ principal: agent, task_id: task }))?.content;
  /** Process ids of the server connections that wait for a lock of ours. */
  const untilWaiting = (count: number) =>
    vi.waitFor(
      async () => {
        const rows = await db.admin<{ pid: number }[]>`
          select pid from pg_stat_activity where usename = ${login} and wait_event = 'advisory'`;
        expect(rows).toHaveLength(count);
        return rows.map(({ pid }) => pid);
      },
      { timeout: 10_000, interval: 20 },
    );
  const expectNoLocks = async () =>
    expect(
      await db.admin`select l.* from pg_locks l join pg_stat_activity a using (pid)
        where a.usename = ${login} and l.locktype = 'advisory'`,
    ).toHaveLength(0);

  test('a worker is refused there, with what to do', async () => {
    const result = await cli(['worker'], { env: { DATABASE_URL: bouncer.url('near') } });
    expectMistake(result, 2, 'needs a direct connection to PostgreSQL', 'Give it the URL of PostgreSQL itself');
  });

  test('connect finds out by itself, keeps no prepared statements, and has the settings of its login', async () => {
    expect(sql.options.prepare).toBe(false);
    const [settings] = await sql`
      select current_user as role, current_setting('client_connection_check_interval') as look,
        current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as wait`;
    expect(settings).toEqual({ role: login, look: '1s', idle: '1min', wait: '15s' });
  });

  test('every plan operation works', async () => {
    const { task, agent, user, session } = await makeCast(db);
    const on = { principal: agent, task_id: task };
    const created = await ledger.planCreate({ ...on, content: '- [ ] one', request_id: 'c' });
    expect(await ledger.planCreate({ ...on, content: '- [ ] one', request_id: 'c' })).toEqual({
      ...created,
      replayed: true,
    });
    const appended = await ledger.planAppend({ ...on, fragment: 'two' });
    const edited = await ledger.planEdit({
      ...on,
      expected_version: appended.version,
      old_text: '[ ]',
      new_text: '[x]',
    });
    const replaced = await ledger.planReplace({ ...on, principal: user, policy: 'browser', content: 'new' });
    expect(replaced.revision_number).toBe(2);
    const listed = await ledger.revisionList(on);
    expect(listed.map(({ revision_number }) => revision_number)).toEqual([2, 1]);
    const old = await ledger.revisionGet({ ...on, revision_id: edited.revision_id });
    expect(old.content).toBe('- [x] one\n\ntwo');
    await ledger.planRestore({
      ...on,
      revision_id: old.id,
      expected_version: replaced.version,
      expected_revision_version: old.revision_version,
    });
    await ledger.planMarkImplementationStarted({ ...on, session_id: session });
    expect(await ledger.planGet(on)).toMatchObject({ content: old.content, implementation_started_by: 'agent' });
    await ledger.planDelete(on);
    expect(await ledger.planGet(on)).toBeNull();
    await ledger.planRevert({ ...on, principal: user, revision_id: replaced.revision_id });
    expect(await ledger.planGet(on)).toMatchObject({ content: 'new', revision_number: 4 });
    const conflict = await failure(ledger.planReplace({ ...on, content: 'x', expected_version: edited.version }));
    expect(conflict.code).toBe('plan_version_conflict');
    await expectNoLocks();
  });

  test('two processes and six connections append through two server connections: every fragment exactly once', async () => {
    const cast = await makePlan();
    const { task, agent } = cast;
    const writers = await Promise.all(
      [0, 1].map(async (index) => {
        const writer = startWorker('append', {
          url: bouncer.url('near'),
          applicationName: `writer ${index}`,
          principal: agent,
          tasks: [task],
          count: 100,
        });
        await writer.until('ready');
        return writer;
      }),
    );
    for (const writer of writers) writer.tell('go');
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    await Promise.all(
      numbers.map((number) => ledger.planAppend({ principal: agent, task_id: task, fragment: `here ${number}` })),
    );
    expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual([0, 0]);
    const expected = [
      'start',
      ...['writer 0', 'writer 1', 'here'].flatMap((name) => numbers.map((n) => `${name} ${n}`)),
    ];
    expect((await contentOf(cast))?.split('\n\n').sort()).toEqual(expected.sort());
    expect(await historyProblems(db.admin)).toEqual([]);
    const connections = await db.admin`select from pg_stat_activity where usename = ${login}`;
    expect(connections.length).toBeLessThanOrEqual(2);
    await expectNoLocks();
  });

  test('a waiting client that is killed 2 s before the lock is released writes nothing afterwards', async () => {
    const cast = await makePlan();
    const before = await stored(db, cast.task);
    const release = await holdPlanLock(db.admin, cast.task);
    const client = startWorker('call', {
      url: bouncer.url('near'),
      applicationName: 'killed',
      calls: [['planAppend', { principal: cast.agent, task_id: cast.task, fragment: 'from the dead' }]],
    });
    await client.until('ready');
    client.tell('go');
    const [pid] = await untilWaiting(1);
    client.kill();
    await delay(2000);
    expect(await db.admin`select from pg_stat_activity where pid = ${pid ?? 0}`).toHaveLength(0);
    await release();
    await delay(200);
    expect(await stored(db, cast.task)).toEqual(before);
  });

  test('no lock and no setting of one client is left to the next', async () => {
    const cast = await makePlan();
    const { task, agent } = cast;
    // One killed in the middle of its transaction, one cancelled, one that gave up waiting.
    const holder = startWorker('hold', { url: bouncer.url('near'), applicationName: 'holder', principal: agent, task });
    await holder.until('holding');
    const cancelled = sql`select * from planledger.plan_append(${agent}, ${task}, 'cancelled')`;
    const outcome = cancelled.then(
      () => 'written',
      (error: { code: string }) => error.code,
    );
    await untilWaiting(1);
    cancelled.cancel();
    expect(await outcome).toBe('57014');
    await createLedger(db.admin).settingsChange({ lock_wait: '100 milliseconds' });
    const busy = await failure(ledger.planAppend({ principal: agent, task_id: task, fragment: 'gave up' }));
    expect(busy.code).toBe('plan_busy');
    await createLedger(db.admin).settingsChange({ lock_wait: '15 seconds' });
    holder.kill();
    await ledger.planAppend({ principal: agent, task_id: task, fragment: 'next' });

    expect(await contentOf(cast)).toBe('start\n\nnext');
    await expectNoLocks();
    const waits = await Promise.all(
      [1, 2].map(() => sql`select current_setting('lock_timeout') as wait, pg_sleep(0.2)`),
    );
    expect(waits.map(([row]) => row?.wait)).toEqual(['15s', '15s']);
  });

  test('the server connection breaks between commit and answer: connection_lost, never "nothing was written"', async () => {
    const cast = await makePlan();
    const { task, agent } = cast;
    const far = await connect(bouncer.url('far'), { max: 1 });
    const distant = createLedger(far);
    const values = { principal: agent, task_id: task, fragment: 'once', request_id: 'r-1' };
    network.holdAnswers();
    const lost = failure(distant.planAppend(values));
    await vi.waitFor(async () => expect(await contentOf(cast)).toBe('start\n\nonce'));
    network.breakConnections();
    expect((await lost).toJSON()).toMatchObject({ code: 'connection_lost', write_applied: 'unknown', task_id: task });
    // The call after it may be told of the lost connection, and of nothing else.
    const next = await distant.planGet(values).catch(({ code }: PlanledgerError) => code);
    expect([
      'connection_lost',
      'database_unavailable',
      expect.objectContaining({ content: 'start\n\nonce' }),
    ]).toContainEqual(next);
    expect(await distant.planGet(values)).toMatchObject({ content: 'start\n\nonce' });
    await far.end({ timeout: 1 });
    const written = await stored(db, task);
    expect(await ledger.planAppend(values)).toMatchObject({ replayed: true });
    expect(await stored(db, task)).toEqual(written);
  });
});
