import { expect, test } from 'vitest';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { expectRefusal, failure } from '../observe.ts';
import { age, history, makePlan, read } from '../plans.ts';

const db = useDatabase();
const guarded = ['agent', 'service', 'user'] as const; // a user outside the browser has the agent rules too

test('a new plan without a title is titled Plan, and a supplied version is a conflict rather than a creation', async () => {
  const cast = await makeCast(db);
  const by = { principal: cast.agent, task_id: cast.task };
  await expectRefusal(db, cast.task, () => db.ledger.planCreate({ ...by, content: 'a', expected_version: 'x' }), {
    code: 'plan_version_conflict',
    operation: 'create',
  });
  const created = await db.ledger.planCreate({ ...by, content: 'a', expected_version: '' });
  expect(created).toMatchObject({ outcome: 'created', title: 'Plan', revision_number: 1, coalesced: false });
  expect(await read(db, cast)).toMatchObject({ title: 'Plan', content: 'a', created_by: 'agent' });
});

test.each(guarded)('create by a %s over an existing plan is a guarded replacement', async (caller) => {
  const cast = await makePlan(db, 'x'.repeat(2_000), 'Kept');
  const call = { principal: cast[caller], task_id: cast.task };
  for (const [operation, write] of [
    ['create', db.ledger.planCreate],
    ['replace', db.ledger.planReplace],
  ] as const) {
    const current = { current_version: cast.created.version };
    for (const expected_version of [undefined, null, '']) {
      await expectRefusal(db, cast.task, () => write({ ...call, content: 'y'.repeat(2_000), expected_version }), {
        code: 'plan_version_required',
        operation,
        details: current,
      });
    }
    await expectRefusal(db, cast.task, () => write({ ...call, content: 'y', expected_version: 'other' }), {
      code: 'plan_version_conflict',
      operation,
      details: current,
    });
    await expectRefusal(
      db,
      cast.task,
      () => write({ ...call, content: 'y'.repeat(999), expected_version: cast.created.version }),
      { code: 'plan_truncation_rejected', operation, details: { current_chars: 2_000, new_chars: 999 } },
    );
    await expectRefusal(
      db,
      cast.task,
      () => write({ ...call, content: 'y'.repeat(999), allow_truncation: true, expected_version: 'other' }),
      { code: 'plan_version_conflict', operation },
    );
  }
  const expected_version = cast.created.version;
  const replaced = await db.ledger.planCreate({ ...call, content: 'y'.repeat(1_000), expected_version });
  expect(replaced).toMatchObject({ outcome: 'replaced', title: 'Kept', plan_id: cast.created.plan_id });
  await expectRefusal(db, cast.task, () => db.ledger.planReplace({ ...call, content: 'z', expected_version }), {
    code: 'plan_version_conflict',
    operation: 'replace',
    details: { current_version: replaced.version },
  });
});

test.each(['agent', 'service'] as const)('a %s may not ask for the browser policy', async (caller) => {
  const cast = await makePlan(db, 'x'.repeat(2_000));
  const call = { principal: cast[caller], task_id: cast.task, content: 'short', policy: 'browser' };
  for (const [operation, write] of [
    ['create', () => db.ledger.planCreate(call)],
    ['replace', () => db.ledger.planReplace(call)],
    ['revert', () => db.ledger.planRevert({ ...call, revision_id: cast.created.revision_id })],
    ['list_revisions', () => db.ledger.revisionList(call)],
  ] as const) {
    await expectRefusal(db, cast.task, write, { code: 'validation_error', operation });
  }
});

test('nobody may ask for a policy that does not exist', async () => {
  const cast = await makePlan(db, 'a');
  for (const policy of ['', 'Browser', 'none', null]) {
    const call = { principal: cast.user, task_id: cast.task, content: 'b', policy };
    await expectRefusal(db, cast.task, () => db.ledger.planReplace(call), {
      code: 'validation_error',
      operation: 'replace',
      details: { argument: 'policy' },
    });
  }
});

test('the browser needs no version, is not guarded, may store an empty text, and is checked when it sends a version', async () => {
  const cast = await makePlan(db, 'x'.repeat(2_000), 'Kept');
  const browser = { principal: cast.user, task_id: cast.task, policy: 'browser' };
  await expectRefusal(db, cast.task, () => db.ledger.planReplace({ ...browser, content: '', expected_version: 'x' }), {
    code: 'plan_version_conflict',
    operation: 'replace',
  });
  await expectRefusal(db, cast.task, () => db.ledger.planReplace({ ...browser, content: 'x'.repeat(262_145) }), {
    code: 'plan_content_too_large',
    operation: 'replace',
    details: { content_bytes: 262_145 },
  });
  const emptied = await db.ledger.planReplace({ ...browser, content: '' });
  expect(emptied).toMatchObject({ outcome: 'replaced', content_bytes: 0, coalesced: false, title: 'Kept' });
  expect(await read(db, cast)).toMatchObject({ content: '', title: 'Kept', version: emptied.version });
  await db.ledger.planCreate({ ...browser, content: 'again', expected_version: emptied.version, title: 'New' });
  expect(await read(db, cast)).toMatchObject({ content: 'again', title: 'New' });
  expect((await history(db, cast))[0]).toBe('x'.repeat(2_000));
});

test('the browser creates an empty plan, and updates no plan that is not there', async () => {
  const cast = await makeCast(db);
  const browser = { principal: cast.user, task_id: cast.task, policy: 'browser', content: '' };
  await expectRefusal(db, cast.task, () => db.ledger.planReplace(browser), {
    code: 'plan_not_found',
    operation: 'replace',
  });
  expect(await db.ledger.planCreate(browser)).toMatchObject({ outcome: 'created', content_bytes: 0, title: 'Plan' });
  expect(await read(db, cast)).toMatchObject({ content: '', created_by: 'user' });
});

test('an acknowledged reduction keeps the previous text in history, and nothing merges into it', async () => {
  const cast = await makePlan(db, 'x'.repeat(2_000));
  const by = { principal: cast.agent, task_id: cast.task };
  const cut = await db.ledger.planReplace({
    ...by,
    content: 'cut',
    allow_truncation: true,
    expected_version: cast.created.version,
  });
  expect(cut).toMatchObject({ coalesced: false, revision_number: 2 });
  await db.ledger.planAppend({ ...by, fragment: 'next' });
  await db.ledger.planAppend({ ...by, fragment: 'joins' });
  expect(await history(db, cast)).toEqual(['x'.repeat(2_000), 'cut', 'cut\n\nnext\n\njoins']);
});

test('allow_truncation without a reduction is an ordinary write', async () => {
  const cast = await makePlan(db, 'x'.repeat(2_000));
  const by = { principal: cast.agent, task_id: cast.task, allow_truncation: true };
  const expected_version = cast.created.version;
  const ack = await db.ledger.planReplace({ ...by, content: `${'x'.repeat(2_000)}y`, expected_version });
  expect(ack).toMatchObject({ coalesced: true, revision_number: 1 });
});

test('titles, request ids and task ids have 1 to 200 characters, counted as code points', async () => {
  const cast = await makeCast(db);
  const by = { principal: cast.agent, task_id: cast.task, content: 'a' };
  for (const [name, value] of [
    ['title', '🚀'.repeat(201)],
    ['request_id', '🚀'.repeat(201)],
    ['request_id', ''],
  ] as const) {
    await expectRefusal(db, cast.task, () => db.ledger.planCreate({ ...by, [name]: value }), {
      code: 'validation_error',
      operation: 'create',
      details: { argument: name },
    });
  }
  for (const task_id of ['', 'x'.repeat(201), null]) {
    expect(await failure(db.ledger.planCreate({ ...by, task_id }))).toMatchObject({ code: 'validation_error' });
  }
  const ids = { title: '🚀'.repeat(200), request_id: '🚀'.repeat(200) };
  expect(await db.ledger.planCreate({ ...by, ...ids })).toMatchObject({ title: ids.title });
});

test('text that PostgreSQL cannot hold is refused by name and never altered', async () => {
  const cast: Cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  for (const text of ['a\0b', 'a\ud800', '\udc00b', '\ude80\ud83d']) {
    const error = await failure(db.ledger.planAppend({ ...by, fragment: text }));
    expect(error).toMatchObject({ code: 'validation_error', details: { argument: 'fragment' }, writeApplied: false });
    expect((await failure(db.ledger.planAppend({ ...by, fragment: 'b', title: text }))).code).toBe('validation_error');
  }
  expect((await read(db, cast)).content).toBe('a');
});

test('an old write is stored exactly, byte for byte, whatever its characters', async () => {
  const cast = await makePlan(db, 'a');
  await age(db, cast.task, '1 hour');
  const content = `\ufeff\u0001\u007f \r\n\t e\u0301 é 🚀 \u2028 ${'$1 \\n %s {} <b>'}\u3000\n\n`;
  await db.ledger.planReplace({
    principal: cast.agent,
    task_id: cast.task,
    content,
    title: ' odd\u0001 title ',
    expected_version: cast.created.version,
  });
  expect(await read(db, cast)).toMatchObject({ content, title: ' odd\u0001 title ' });
});
