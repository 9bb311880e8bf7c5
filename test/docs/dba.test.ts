import { describe, expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { emptyDatabase } from '../support/database.ts';
import { useDatabase } from '../support/fixture.ts';
import { executedBlocks } from './blocks.ts';
import { driverSession, hasPsql, psqlSession, type Session } from './sessions.ts';
import { statementsOf } from './statements.ts';

/** The walk-through, and the page that goes on where it ends. */
const pages = ['docs/dba.md', 'docs/operations.md'] as const;
const sqlBlocks = async () => (await Promise.all(pages.map((page) => executedBlocks(page, 'sql')))).flat();
const firstMigration = '-- before the first migration';

const clients: { client: string; open: (url: string) => Session | Promise<Session> }[] = [
  { client: 'the driver', open: driverSession },
  ...(hasPsql() ? [{ client: 'psql', open: psqlSession }] : []),
];

describe.each(clients)('the walk-through with $client', ({ open }) => {
  const db = useDatabase();

  test('every statement does what the page says, in the order of the page', async () => {
    const sessions = { first: await open(db.url), second: await open(db.url) };
    onTestFinished(async () => {
      await Promise.all([sessions.first.close(), sessions.second.close()]);
      for (const role of ['planledger_server', 'dana_reads']) await db.admin.unsafe(`drop role if exists ${role}`);
    });
    const blocks = (await sqlBlocks()).filter(({ text }) => !text.startsWith(firstMigration));
    const statements = blocks.flatMap(statementsOf);
    expect(statements.length).toBeGreaterThan(50);
    for (const { place, text, refusal, second } of statements) {
      const error = await (second ? sessions.second : sessions.first).run(text);
      expect(error, `${place}: ${text}`).toBe(refusal);
      await expectEffect(text);
    }
    expect(effects.size, 'effects that no statement had').toBe(0);
  });

  const walkThrough = 'walkthrough';
  const content = async () => {
    const [plan] = await db.admin`select content from planledger.plan_document where task_id = ${walkThrough}`;
    return plan?.content;
  };

  const comments = async () =>
    await db.admin`select version, body from planledger.pending_comments where task_id = ${walkThrough}`.values();

  /** What the page promises of a statement, by a part of its text; each is looked at once. */
  const effects = new Map<string, () => Promise<void>>([
    ['plan_append(', async () => expect(await content()).toMatch(/^# Move the archive\n.*\n\n## After the move\n/s)],
    ['plan_edit(', async () => expect(await content()).toContain('- [x] Back up\n- [ ] Copy\n')],
    ['plan_restore(', async () => expect(await content()).toContain('- [ ] Back up\n- [ ] Copy\n')],
    ['plan_delete(', async () => expect(await content()).toBeUndefined()],
    ['plan_revert(', async () => expect(await content()).toContain('- [x] Back up\n')],
    ['comment_create(', async () => expect(await comments()).toEqual([[1, 'Compare before you delete.']])],
    ['comment_update(', async () => expect(await comments()).toEqual([[2, 'Compare checksums before you delete.']])],
    ['comment_delete(', async () => expect(await comments()).toHaveLength(1)],
    [
      'from planledger.locks;',
      async () => expect(await db.admin`select state from planledger.locks`).toEqual([{ state: 'holds' }]),
    ],
    ['pg_terminate_backend(', async () => expect(await db.admin`select from planledger.locks`).toHaveLength(0)],
    [
      'token_revoke(',
      async () => expect([...(await db.admin`select works from planledger.token_list()`)]).toEqual([{ works: false }]),
    ],
    ['delete from planledger.workspaces', async () => expect(await db.admin`select from planledger.tasks`).toEqual([])],
  ]);

  async function expectEffect(statement: string): Promise<void> {
    for (const [part, look] of effects) {
      if (!`${statement};`.includes(part)) continue;
      effects.delete(part);
      await look();
    }
  }
});

describe('a damaged plan', () => {
  const db = useDatabase();

  test('is found by the query of the page and brought back by its revert', async () => {
    const session = await driverSession(db.url);
    onTestFinished(session.close);
    const blocks = await sqlBlocks();
    const [damaged, revert] = ['-- damaged revisions', '-- revert to a sound revision'].map((start) => {
      const found = blocks.filter(({ text }) => text.startsWith(start)).flatMap(statementsOf);
      expect(found, start).toHaveLength(1);
      return found[0]?.text ?? '';
    });
    const statements = blocks.flatMap(statementsOf);
    const history = statements.slice(0, statements.findIndex(({ text }) => text.includes('plan_restore(')) + 1);
    for (const { text, refusal } of history) expect(await session.run(text)).toBe(refusal);
    const read = `select (planledger.plan_get(id, 'walkthrough')).content from planledger.principals where display_name = 'Dana'`;
    expect(await db.admin.unsafe(damaged ?? '')).toEqual([]);

    await db.admin`delete from planledger.plan_segments where task_id = 'walkthrough' and seq =
      (select max(last_segment) from planledger.plan_revisions where task_id = 'walkthrough')`;
    expect(await session.run(read)).toBe('plan_head_unavailable');
    expect([...(await db.admin.unsafe(damaged ?? ''))]).toEqual([
      { task_id: 'walkthrough', revision_number: 3, is_current: true },
    ]);
    expect(await session.run(revert ?? '')).toBeUndefined();
    expect(await db.admin.unsafe(read)).toMatchObject([{ content: expect.stringContaining('- [x] Back up') }]);
  });
});

describe('a login that may not create roles', () => {
  const db = useDatabase();

  test('migrates after a DBA ran the statements of the page, and upgrades as a member of the owner', async () => {
    const url = await emptyDatabase(db.url);
    const session = await driverSession(url);
    onTestFinished(async () => {
      await session.run('drop owned by planledger_deploy');
      await session.run('drop role planledger_deploy');
      await session.close();
      await db.admin.unsafe(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
    });
    const blocks = (await sqlBlocks()).filter(({ text }) => text.startsWith(firstMigration));
    expect(blocks).toHaveLength(1);
    for (const { place, text } of blocks.flatMap(statementsOf)) {
      const error = await session.run(text);
      // The roles of Planledger belong to the server, where the tests made them already.
      if (!/^create role planledger_(owner|app|reader|worker) /.test(text)) expect(error, place).toBeUndefined();
    }
    await session.run(`alter role planledger_deploy password 'deploy'`);
    const login = new URL(url);
    login.username = 'planledger_deploy';
    login.password = 'deploy';
    expect((await migrate(login.href)).functionsApplied).toBe(true);
    expect(await session.run(`update planledger.installed set functions_sha256 = 'another'`)).toBeUndefined();
    expect(await migrate(login.href)).toEqual({ applied: [], functionsApplied: true });
  });
});
