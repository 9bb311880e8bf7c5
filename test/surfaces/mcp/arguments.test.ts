import { beforeEach, describe, expect, test } from 'vitest';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { type Call, caller, connectHttp, fields, startHttp, texts, tokenFor, toolNames } from './clients.ts';

const db = useDatabase();
let cast: Cast;
let call: Call;
let version: string;

beforeEach(async () => {
  cast = await makeCast(db);
  const { url } = await startHttp(db);
  call = caller(await connectHttp(url, (await tokenFor(db, cast.agent)).token));
  version = String(fields(await call('create', { content: '- [ ] one', title: 'Mine' })).version);
});

const complete: Record<string, Record<string, unknown>> = {
  create: { content: 'x', expected_version: 'v' },
  get: {},
  update: { content: 'x', expected_version: 'v' },
  edit: { expected_version: 'v', old_text: 'a', new_text: 'b' },
  list: {},
  get_revision: { revision_id: 'r' },
  restore: { revision_id: 'r', expected_version: 'v', expected_revision_version: 'v' },
  delete: {},
};

const typesOf: Record<string, Record<string, 'string' | 'boolean' | 'integer'>> = {
  create: {
    content: 'string',
    title: 'string',
    expected_version: 'string',
    allow_truncation: 'boolean',
    mode: 'string',
    request_id: 'string',
  },
  get: {},
  update: {
    content: 'string',
    title: 'string',
    expected_version: 'string',
    allow_truncation: 'boolean',
    mode: 'string',
    request_id: 'string',
  },
  edit: {
    expected_version: 'string',
    old_text: 'string',
    new_text: 'string',
    allow_truncation: 'boolean',
    request_id: 'string',
  },
  list: { before_revision_number: 'integer', limit: 'integer' },
  get_revision: { revision_id: 'string' },
  restore: {
    revision_id: 'string',
    expected_version: 'string',
    expected_revision_version: 'string',
    request_id: 'string',
  },
  delete: { request_id: 'string' },
};

const wrong: Record<string, unknown[]> = {
  string: [null, 7, true, ['x'], { x: 1 }],
  boolean: [null, 'true', 1],
  integer: [null, '1', 1.5, 3_000_000_000],
};

async function state() {
  const [row] = await db.admin`
    select (select row_to_json(d)::text from planledger.plan_document d where d.task_id = ${cast.task}) as head,
      (select json_agg(r order by revision_number)::text from planledger.plan_revisions r where r.task_id = ${cast.task}) as revisions,
      (select count(*) from planledger.events where task_id = ${cast.task}) as events`;
  return row;
}

describe.each(Object.keys(complete))('%s', (tool) => {
  test('refuses a wrong type, null, U+0000, half a surrogate pair and an unknown name, each by name, and changes nothing', async () => {
    const before = await state();
    const cases: [string, unknown][] = [['unknown_one', 'x']];
    for (const [argument, type] of Object.entries({ task_id: 'string', ...typesOf[tool] })) {
      for (const value of wrong[type] ?? []) cases.push([argument, value]);
      if (type === 'string') cases.push([argument, 'a\0b'], [argument, 'a\ud800b'], [argument, '\udc00']);
    }
    for (const [argument, value] of cases) {
      const result = await call(tool, { ...complete[tool], [argument]: value });
      const what = `${tool} ${argument} ${JSON.stringify(value)}`;
      expect(result.isError, what).toBe(true);
      expect(fields(result), what).toMatchObject({ code: 'validation_error', argument, write_applied: false });
      expect(texts(result)[0], what).toContain(argument);
      expect(texts(result)[0], what).toContain('Nothing was written');
    }
    expect(await state()).toEqual(before);
  });
});

test.each(['a\0b', 'a\ud800b'])(
  'an append of %j names the argument of the tool, not of the function behind it',
  async (content) => {
    const before = await state();
    const result = await call('update', { content, mode: 'append' });
    expect(fields(result)).toMatchObject({ code: 'validation_error', argument: 'content', write_applied: false });
    expect(await state()).toEqual(before);
  },
);

test('a misspelt precondition is refused by name, never ignored', async () => {
  const result = await call('update', { content: 'x', mode: 'append', expected_versoin: 'stale' });
  expect(fields(result)).toMatchObject({ code: 'validation_error', argument: 'expected_versoin' });
});

test('what is missing or empty but judged in SQL keeps its own code', async () => {
  const before = await state();
  const expected: [string, Record<string, unknown>, string][] = [
    ['create', {}, 'plan_content_required'],
    ['create', { content: '' }, 'plan_content_required'],
    ['create', { content: 'x' }, 'plan_version_required'],
    ['create', { content: 'x', expected_version: '' }, 'plan_version_required'],
    ['update', {}, 'plan_content_required'],
    ['update', { mode: 'append', content: '' }, 'plan_content_required'],
    ['update', { content: 'x' }, 'plan_version_required'],
    ['update', { content: 'x', mode: '' }, 'plan_version_required'],
    ['update', { content: 'x', mode: 'append', allow_truncation: true }, 'plan_append_truncation_not_applicable'],
    ['update', { content: 'x', mode: 'append', expected_version: 'no' }, 'plan_version_conflict'],
    ['edit', { expected_version: version, new_text: 'x' }, 'plan_edit_text_required'],
    ['edit', { expected_version: version, new_text: 'x', old_text: '' }, 'plan_edit_text_required'],
    ['edit', { new_text: 'x', old_text: 'one' }, 'plan_version_required'],
    ['edit', { expected_version: '', new_text: 'x', old_text: 'one' }, 'plan_version_required'],
    ['edit', { expected_version: version, new_text: 'x', old_text: 'two' }, 'plan_edit_not_found'],
    ['get_revision', { revision_id: 'nothing' }, 'revision_not_found'],
  ];
  for (const [tool, args, code] of expected) {
    const result = await call(tool, args);
    expect(result.isError, code).toBe(true);
    expect(fields(result), JSON.stringify([tool, args])).toMatchObject({
      code,
      task_id: cast.task,
      write_applied: false,
    });
  }
  expect(await state()).toEqual(before);
});

test('a restore without its versions is told which', async () => {
  const [revision] = (await db.ledger.revisionList({ principal: cast.agent, task_id: cast.task })) ?? [];
  const revision_id = revision?.id;
  expect(fields(await call('restore', { revision_id }))).toMatchObject({ code: 'plan_version_required' });
  const result = await call('restore', { revision_id, expected_version: version, expected_revision_version: '' });
  expect(fields(result)).toMatchObject({ code: 'plan_revision_version_required' });
});

test.each([
  ['edit', { expected_version: 'v', old_text: 'a' }, 'new_text'],
  ['get_revision', {}, 'revision_id'],
  ['restore', { expected_version: 'v', expected_revision_version: 'v' }, 'revision_id'],
])('%s names the required argument that is missing', async (tool, args, argument) => {
  expect(fields(await call(tool, args))).toMatchObject({ code: 'validation_error', argument });
});

test.each(['APPEND', 'Append', ' append', 'prepend', 'null'])(
  'mode %j is refused, naming both modes, and nothing is written',
  async (mode) => {
    const before = await state();
    const result = await call('update', { content: 'addition', mode });
    expect(fields(result)).toMatchObject({ code: 'validation_error', argument: 'mode', write_applied: false });
    expect(texts(result)[0]).toMatch(/replace/);
    expect(texts(result)[0]).toMatch(/append/);
    expect(await state()).toEqual(before);
  },
);

test('a surface that dropped mode would be found out: append keeps the plan and adds to it', async () => {
  const result = await call('update', { content: 'addition', mode: 'append', expected_version: version });
  expect(fields(result)).toMatchObject({ outcome: 'appended', content_bytes: '- [ ] one\n\naddition'.length });
  expect(texts(await call('get'))[1]).toBe('- [ ] one\n\naddition');
});

test.each(['append', 'replace', 'x', ' '])('create refuses mode %j and names the tool that appends', async (mode) => {
  const before = await state();
  const result = await call('create', { content: 'x', mode, expected_version: version });
  expect(fields(result)).toMatchObject({ code: 'validation_error', argument: 'mode' });
  expect(texts(result)[0]).toContain('update_task_plan_kandev');
  expect(await state()).toEqual(before);
});

test('an empty mode means no mode to create', async () => {
  const result = await call('create', { content: 'x', mode: '', expected_version: version });
  expect(fields(result)).toMatchObject({ outcome: 'replaced' });
});

test('lengths and sizes are judged once, in the database', async () => {
  const before = await state();
  const long = 'x'.repeat(201);
  for (const argument of ['task_id', 'title', 'request_id']) {
    const result = await call('update', { content: 'x', mode: 'append', [argument]: long });
    expect(fields(result), argument).toMatchObject({ code: 'validation_error', argument });
  }
  for (const limit of [0, 101, -1]) {
    expect(fields(await call('list', { limit }))).toMatchObject({ code: 'validation_error', argument: 'limit' });
  }
  const { content_max_bytes } = await db.ledger.contentMaxBytes({});
  const tooLarge = await call('update', {
    content: `${'é'.repeat(content_max_bytes / 2)}x`,
    expected_version: version,
  });
  expect(fields(tooLarge)).toMatchObject({
    code: 'plan_content_too_large',
    content_bytes: content_max_bytes + 1,
    limit_bytes: content_max_bytes,
  });
  expect(await state()).toEqual(before);
});

test('a tool that does not exist is a protocol error that names those that do', async () => {
  await expect(call('no_such_tool')).rejects.toMatchObject({ code: -32602 });
  await expect(call('no_such_tool')).rejects.toThrow(toolNames.update);
});
