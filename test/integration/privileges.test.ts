import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();
const kinds = ['app', 'reader', 'worker'] as const;
const logins = Object.fromEntries(kinds.map((kind) => [kind, `${kind}_${randomBytes(6).toString('hex')}`])) as Record<
  (typeof kinds)[number],
  string
>;
const sessions = {} as Record<keyof typeof logins, postgres.Sql>;

/** What may be read, and by whom: pinned here, whatever the grants file says. */
const views = [
  'activity',
  'agents',
  'locks',
  'pending_comments',
  'plan_document',
  'plan_storage',
  'receipt_status',
  'receipts_by_state',
  'revision_document',
  'stuck_deliveries',
];
const callable = {
  // The view `locks` calls lock_key with the rights of whoever reads it.
  reader: ['installation', 'lock_key'],
  worker: [
    'agent_end',
    'agent_ready',
    'agent_say',
    'agent_start',
    'agent_turn_end',
    'agents_tend',
    'attachments_prune',
    'events_prune',
    'receipt_acknowledge',
    'receipt_attachments',
    'receipt_end_attempt',
    'receipt_mark_attempted',
    'receipt_release',
    'receipt_reserve',
    'receipts_prune',
    'receipts_reconcile',
    'requests_prune',
  ],
  app: [
    'admission_lease',
    'attachment_get',
    'attachment_max_bytes',
    'attachment_stage',
    'comment_create',
    'comment_delete',
    'comment_list',
    'comment_update',
    'content_max_bytes',
    'delivery_get',
    'error_catalog',
    'event_audience',
    'events_read',
    'installation',
    'message_add',
    'message_get',
    'message_list',
    'plan_append',
    'plan_create',
    'plan_delete',
    'plan_edit',
    'plan_get',
    'plan_mark_implementation_started',
    'plan_replace',
    'plan_restore',
    'plan_revert',
    'queue_add',
    'queue_append',
    'queue_auto_run_set',
    'queue_cancel',
    'queue_drain',
    'queue_get',
    'queue_remove',
    'queue_reorder',
    'queue_send_now',
    'queue_update',
    'receipt_dismiss',
    'receipt_get',
    'receipt_list',
    'receipt_retry',
    'revision_get',
    'revision_list',
    'session_close',
    'session_create',
    'session_list',
    'session_set_primary',
    'session_set_state',
    'task_archive',
    'task_create',
    'task_delete',
    'task_get',
    'task_list',
    'token_authenticate',
  ],
};

// Real logins: the suite's own login is a superuser that has only put the role on.
beforeAll(async () => {
  for (const kind of kinds) {
    const password = randomBytes(12).toString('hex');
    await db.admin.unsafe(`create role ${logins[kind]} login password '${password}' in role planledger_${kind}`);
    const url = new URL(db.url);
    url.username = logins[kind];
    url.password = password;
    sessions[kind] = postgres(url.href, { max: 2, onnotice: () => {} });
  }
  const { agent, task } = await makeCast(db);
  await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
});
afterAll(async () => {
  await Promise.all(Object.values(sessions).map((sql) => sql.end({ timeout: 1 })));
  for (const login of Object.values(logins)) await db.admin.unsafe(`drop role if exists ${login}`);
});

/** The SQLSTATE of a statement, run in a transaction that is rolled back; `ok` where it succeeds. */
async function outcome(sql: postgres.Sql, statement: string): Promise<string> {
  const undo = new Error('undo');
  const error = await sql
    .begin(async (transaction) => {
      await transaction.unsafe(statement);
      throw undo;
    })
    .catch((reason: unknown) => reason);
  return error === undo ? 'ok' : ((error as postgres.PostgresError).code ?? String(error));
}

interface Relation {
  name: string;
  kind: 'table' | 'view' | 'sequence';
  column: string;
}

async function relations(): Promise<Relation[]> {
  const found = await db.admin<Relation[]>`
    select c.relname as name, case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end as kind,
      (select quote_ident(a.attname) from pg_attribute a where a.attrelid = c.oid and a.attnum = 1) as column
    from pg_class c where c.relnamespace = 'planledger'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    order by 1`;
  expect(found.filter(({ kind }) => kind === 'table').length).toBeGreaterThan(10);
  return found;
}

const writes = ({ name, column }: Relation) => [
  `insert into planledger.${name} default values`,
  `update planledger.${name} set ${column} = ${column}`,
  `delete from planledger.${name}`,
  `truncate planledger.${name}`,
  `lock table planledger.${name} in exclusive mode`,
  `alter table planledger.${name} owner to current_user`,
  `drop table planledger.${name}`,
  `create trigger t before insert on planledger.${name} for each row execute function suppress_redundant_updates_trigger()`,
];

describe.each(kinds)('the %s role', (kind) => {
  test('cannot write, lock, change or drop any relation of the schema', async () => {
    const allowed: string[] = [];
    for (const relation of await relations()) {
      const statements =
        relation.kind === 'sequence'
          ? [`select nextval('planledger.${relation.name}')`, `select setval('planledger.${relation.name}', 1)`]
          : writes(relation);
      for (const statement of statements) {
        const state = await outcome(sessions[kind], statement);
        // Not a table, not updatable, nor this column: said of a view before its privileges are looked at.
        if (state !== '42501' && !(relation.kind === 'view' && ['42809', '55000', '0A000'].includes(state)))
          allowed.push(`${statement}: ${state}`);
      }
    }
    expect(allowed).toEqual([]);
  });

  test(
    kind === 'reader' ? 'can read the inspection views and nothing else' : 'can read no relation at all',
    async () => {
      const readable: string[] = [];
      for (const { name } of await relations()) {
        const state = await outcome(sessions[kind], `select * from planledger.${name} limit 1`);
        if (state === 'ok') readable.push(name);
        else expect(state, name).toBe('42501');
      }
      expect(readable).toEqual(kind === 'reader' ? views : []);
    },
  );

  test('can call exactly its functions, and no helper of theirs', async () => {
    const functions = await db.admin<{ name: string; call: string }[]>`
      select p.proname as name, format('select planledger.%I(%s)', p.proname,
        (select string_agg(format('null::%s', format_type(a.type, null)), ', ' order by a.place)
         from unnest(p.proargtypes) with ordinality a (type, place))) as call
      from pg_proc p where p.pronamespace = 'planledger'::regnamespace order by 1`;
    expect(functions.length).toBeGreaterThan(50);
    const called: string[] = [];
    for (const { name, call } of functions) {
      if ((await outcome(sessions[kind], call)) !== '42501') called.push(name);
    }
    expect(called).toEqual(callable[kind]);
  });

  test('cannot make anything in the schema, nor become its owner', async () => {
    for (const statement of [
      'create table planledger.mine ()',
      "create function planledger.mine() returns int language sql as 'select 1'",
      "create or replace function planledger.white_space() returns text language sql as 'select 1::text'",
      'create view planledger.mine as select 1',
      'drop schema planledger cascade',
      'set role planledger_owner',
      'grant planledger_owner to current_user',
      'set session authorization planledger_owner',
      'alter function planledger.white_space() security definer',
    ]) {
      expect([statement, await outcome(sessions[kind], statement)]).toEqual([statement, '42501']);
    }
  });
});

test('a role that is a member of none can do nothing', async () => {
  const login = `nobody_${randomBytes(6).toString('hex')}`;
  await db.admin.unsafe(`create role ${login} login`);
  try {
    await db.admin.begin(async (transaction) => {
      await transaction.unsafe(`set local role ${login}`);
      for (const statement of ['select * from planledger.plan_document', 'select planledger.content_max_bytes()']) {
        const state = await transaction
          .savepoint((nested) => nested.unsafe(statement))
          .then(
            () => 'ok',
            ({ code }: postgres.PostgresError) => code,
          );
        expect(state).toBe('42501');
      }
    });
  } finally {
    await db.admin.unsafe(`drop role ${login}`);
  }
});
