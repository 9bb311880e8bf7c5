import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { failure } from '../sql/observe.ts';
import { type Cast, makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();
const login = `hostile_${randomBytes(6).toString('hex')}`;
let session: postgres.Sql;

// Built-in functions and operators that ours use, with exactly the argument types that would be preferred.
const builtIn = [
  'clock_timestamp()',
  'pg_try_advisory_xact_lock(bigint)',
  'pg_advisory_xact_lock(bigint)',
  'hashtextextended(text, bigint)',
  'gen_random_uuid()',
  'pg_current_xact_id()',
  'current_setting(text)',
  'set_config(text, text, boolean)',
  'octet_length(text)',
  'char_length(text)',
  'substr(text, integer, integer)',
  'replace(text, text, text)',
  'rtrim(text, text)',
  'sha256(bytea)',
  'convert_to(text, name)',
  'encode(bytea, text)',
  'int8send(bigint)',
  'to_char(timestamp, text)',
  'string_to_array(text, text)',
];
const operators = [
  '= text',
  '<> text',
  '|| text',
  '= uuid',
  '= integer',
  '< integer',
  '+ integer',
  '- integer',
  '= bytea',
];

/** Makes a trap for every name of ours, and for built-in names, in a schema; whoever falls into one is told so. */
async function setTraps(sql: postgres.Sql, schema: string): Promise<void> {
  const ours = await db.admin<{ signature: string }[]>`
    select format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) as signature
    from pg_proc p where p.pronamespace = 'planledger'::regnamespace and p.prorettype <> 'trigger'::regtype
      -- types of ours are not the caller's to use
      and not exists (select from unnest(p.proargtypes) a join pg_type t on t.oid = a
        where t.typnamespace = 'planledger'::regnamespace)`;
  const relations = await db.admin<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'planledger'::regnamespace and relkind in ('r', 'v', 'c')`;
  const trap = `returns void language plpgsql as $$ begin raise exception 'trapped'; end $$`;
  const statements = [
    ...[...ours.map(({ signature }) => signature), ...builtIn].map(
      (name) => `create function ${schema}.${name} ${trap}`,
    ),
    ...relations.map(({ name }) => `create table ${schema}.${name} (bait text)`),
    ...['label', 'size', 'ordinal'].map((name) => `create domain ${schema}.${name} as text check (false)`),
  ];
  for (const statement of statements) await sql.unsafe(statement);
  if (schema === 'pg_temp') return; // operators are not looked for there
  for (const [index, operator] of operators.entries()) {
    const [name, type] = operator.split(' ');
    const result = name === '=' || name === '<' || name === '<>' ? 'boolean' : type;
    await sql.unsafe(`create function ${schema}.trap_${index}(${type}, ${type}) returns ${result} language plpgsql
      as $$ begin raise exception 'trapped'; end $$`);
    await sql.unsafe(
      `create operator ${schema}.${name} (leftarg = ${type}, rightarg = ${type}, function = ${schema}.trap_${index})`,
    );
  }
}

beforeAll(async () => {
  const password = randomBytes(12).toString('hex');
  const database = new URL(db.url).pathname.slice(1);
  await db.admin.unsafe(`create role ${login} login password '${password}' in role planledger_app`);
  await db.admin.unsafe(`grant create, temporary on database ${database} to ${login}`);
  await db.admin.unsafe(`grant create on schema public to ${login}`);
  const url = new URL(db.url);
  url.username = login;
  url.password = password;
  session = postgres(url.href, { max: 1, idle_timeout: 0, onnotice: () => {} });
  await session`create schema evil`;
  for (const schema of ['evil', 'public', 'pg_temp']) await setTraps(session, schema);
});
afterAll(async () => {
  await session?.end({ timeout: 1 });
  await db.admin.unsafe(`drop owned by ${login} cascade`);
  await db.admin.unsafe(`drop role ${login}`);
});

/** Every operation once, through `session`; answers what was stored. */
async function everything({ task, agent, user, session: sessionId }: Cast): Promise<unknown> {
  const ledger = createLedger(session);
  const on = { principal: agent, task_id: task };
  const created = await ledger.planCreate({ ...on, content: '- [ ] one \n', title: 'Title', request_id: 'c' });
  expect(await ledger.planCreate({ ...on, content: '- [ ] one \n', title: 'Title', request_id: 'c' })).toMatchObject({
    version: created.version,
    replayed: true,
  });
  const appended = await ledger.planAppend({ ...on, fragment: '\n  two\\three' });
  const edited = await ledger.planEdit({
    ...on,
    expected_version: appended.version,
    old_text: '[ ]',
    new_text: '[x]',
  });
  const replaced = await ledger.planReplace({ ...on, principal: user, policy: 'browser', content: 'new' });
  const revision = await ledger.revisionGet({ ...on, revision_id: edited.revision_id });
  const outside = await db.ledger.revisionGet({ ...on, revision_id: edited.revision_id });
  expect(revision).toEqual(outside);
  const restored = await ledger.planRestore({
    ...on,
    revision_id: revision.id,
    expected_version: replaced.version,
    expected_revision_version: outside.revision_version,
  });
  await ledger.planMarkImplementationStarted({ ...on, session_id: sessionId });
  expect((await failure(ledger.planReplace({ ...on, content: 'x' }))).code).toBe('plan_version_required');
  expect((await failure(ledger.planReplace({ ...on, content: 'x', expected_version: 'no' }))).code).toBe(
    'plan_version_conflict',
  );
  expect((await failure(ledger.planGet({ ...on, task_id: 'elsewhere' }))).code).toBe('task_unreachable');
  expect(await ledger.planGet(on)).toMatchObject({ version: restored.version, implementation_started_by: 'agent' });
  await ledger.planDelete(on);
  await ledger.planRevert({ ...on, principal: user, revision_id: replaced.revision_id });
  await ledger.taskCreate({ ...on, task_id: `${task}/1`, title: 'Below', parent_task_id: task });
  expect(await ledger.taskList(on)).toHaveLength(2);
  await ledger.taskGet(on);
  await ledger.taskArchive(on);
  await ledger.taskDelete({ ...on, task_id: `${task}/1` });
  return await db.admin`
    select revision_number, title, content, author_kind from planledger.revision_document
    where task_id = ${task} order by revision_number`;
}

const history = [
  { revision_number: 1, title: 'Title', content: '- [x] one\n\n  two\\three', author_kind: 'agent' },
  { revision_number: 2, title: 'Title', content: 'new', author_kind: 'user' },
  { revision_number: 3, title: 'Title', content: '- [x] one\n\n  two\\three', author_kind: 'agent' },
  { revision_number: 4, title: 'Title', content: 'new', author_kind: 'user' },
];

test('the traps work: a session with this search path falls into them', async () => {
  await session`set search_path = evil, public, pg_temp, planledger, pg_catalog`;
  await expect(session`select clock_timestamp()`).rejects.toThrow('trapped');
  await expect(session`select 'a'::pg_catalog.text || 'b'::pg_catalog.text`).rejects.toThrow('trapped');
  await expect(session`select head_read('a', 'b', true)`).rejects.toThrow('trapped');
  expect(await session`select bait from plans`).toEqual([]);
});

test.each([
  'evil, planledger',
  'evil, public, pg_temp, planledger, pg_catalog',
  'pg_temp, evil, planledger, pg_catalog',
  'public',
])('search_path %s: no operation picks up a hostile object', async (path) => {
  await session.unsafe(`set search_path = ${path}`);
  expect(await everything(await makeCast(db))).toEqual(history);
});

test('whatever the session has set, the operations do and answer the same', async () => {
  for (const setting of [
    'search_path = default',
    'standard_conforming_strings = off',
    'transform_null_equals = on',
    "datestyle = 'SQL, DMY'",
    "intervalstyle = 'sql_standard'",
    "timezone = 'Asia/Kathmandu'",
    "bytea_output = 'escape'",
    'extra_float_digits = 0',
    'array_nulls = off',
    "plan_cache_mode = 'force_generic_plan'",
    'enable_seqscan = off',
    'row_security = off',
    'check_function_bodies = off',
  ]) {
    // A server that has dropped a setting refuses it, and then it cannot harm.
    await session.unsafe(`set ${setting}`).catch((error: postgres.PostgresError) => expect(error.code).toBe('42704'));
  }
  // Times read through these settings are the driver's to interpret, so only what is stored is compared.
  const { task, agent } = await makeCast(db);
  const ledger = createLedger(session);
  const on = { principal: agent, task_id: task };
  const created = await ledger.planCreate({ ...on, content: 'a\\b \n\n', request_id: 'c' });
  expect(await ledger.planCreate({ ...on, content: 'a\\b \n\n', request_id: 'c' })).toMatchObject({ replayed: true });
  expect(await db.ledger.planCreate({ ...on, content: 'a\\b \n\n', request_id: 'c' })).toMatchObject({
    replayed: true,
  });
  await ledger.planAppend({ ...on, fragment: '\t\n \u3000\nc\u00a0' });
  const inside = await ledger.revisionGet({ ...on, revision_id: created.revision_id });
  const outside = await db.ledger.revisionGet({ ...on, revision_id: created.revision_id });
  expect(inside.content).toBe('a\\b\n\nc\u00a0');
  expect({ content: outside.content, version: outside.revision_version }).toEqual({
    content: inside.content,
    version: inside.revision_version,
  });
});
