import { describe, expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest } from '../observe.ts';
import { history, makePlan, type Planned, read } from '../plans.ts';

const db = useDatabase();

async function replace(cast: Planned, content: string) {
  const { version } = await read(db, cast);
  return db.ledger.planReplace({ principal: cast.agent, task_id: cast.task, content, expected_version: version });
}

describe.each([
  { kind: 'one-byte', x: 'x', y: 'y' },
  { kind: 'two-byte, alike in their first byte', x: 'é', y: 'è' },
  { kind: 'two-byte, alike in their last byte', x: 'é', y: 'ĩ' },
  { kind: 'astral, alike in three bytes', x: '🚀', y: '🚁' },
])('$kind characters', ({ x, y }) => {
  test('512 replaced characters join, 513 do not', async () => {
    for (const [count, joins] of [
      [512, true],
      [513, false],
    ] as const) {
      const before = `a${x.repeat(count)}b`;
      const after = `a${y.repeat(count)}b`;
      const cast = await makePlan(db, before);
      expect(await replace(cast, after)).toMatchObject({ coalesced: joins, revision_number: joins ? 1 : 2 });
      expect(await history(db, cast)).toEqual(joins ? [after] : [before, after]);
    }
  });

  test('what joins adds up on the revision, and a revision of its own starts from nothing', async () => {
    const cast = await makePlan(db, `${x.repeat(1_600)}end`);
    expect(await replace(cast, `${x.repeat(1_300)}end`)).toMatchObject({ coalesced: true }); // 300
    expect(await replace(cast, `${x.repeat(1_088)}end`)).toMatchObject({ coalesced: true }); // 512
    expect(await replace(cast, `${x.repeat(1_088)}${y}end`)).toMatchObject({ coalesced: true }); // adds only
    expect(await replace(cast, `${x.repeat(1_088)}end`)).toMatchObject({ coalesced: false, revision_number: 2 });
    expect(await replace(cast, `${x.repeat(577)}end`)).toMatchObject({ coalesced: true }); // 511
    expect(await replace(cast, `${x.repeat(575)}end`)).toMatchObject({ coalesced: false, revision_number: 3 });
    expect((await history(db, cast)).map((text) => [...text].length)).toEqual([1_092, 580, 578]);
    await expectHeadIsLatest(db, cast.task);
  });
});

test('only what lies between the common start and the common end counts', async () => {
  const cast = await makePlan(db, `${'s'.repeat(5_000)}old${'e'.repeat(5_000)}`);
  for (let n = 0; n < 170; n++) {
    const text = `${'s'.repeat(5_000)}${n % 2 ? 'old' : 'NEW'}${'e'.repeat(5_000)}`;
    expect(await replace(cast, text)).toMatchObject({ coalesced: true }); // 3 each, 510 in all
  }
  const last = `${'s'.repeat(5_000)}WEN${'e'.repeat(5_000)}`;
  expect(await replace(cast, last)).toMatchObject({ coalesced: false, revision_number: 2 });
});

test('prefix and suffix never count one character twice', async () => {
  const cast = await makePlan(db, 'a'.repeat(513));
  expect(await replace(cast, 'a')).toMatchObject({ coalesced: true }); // 512 gone, not fewer
  const other = await makePlan(db, 'a'.repeat(514));
  expect(await replace(other, 'a')).toMatchObject({ coalesced: false });
});

test('an edit counts like a replace, and ticking boxes joins', async () => {
  const boxes = Array.from({ length: 60 }, (_, n) => `- [ ] item ${n};\n`).join('');
  const cast = await makePlan(db, `${boxes}${'z'.repeat(700)}`);
  const by = { principal: cast.agent, task_id: cast.task };
  let { version } = cast.created;
  for (let n = 0; n < 60; n++) {
    const texts = { old_text: `[ ] item ${n};`, new_text: `[x] item ${n};` };
    const ack = await db.ledger.planEdit({ ...by, ...texts, expected_version: version });
    expect(ack).toMatchObject({ coalesced: true, revision_number: 1 });
    version = ack.version;
  }
  const gone = { old_text: 'z'.repeat(453), new_text: '' };
  const [tooMuch, enough] = [gone, { ...gone, old_text: `9;\n${'z'.repeat(449)}` }]; // 60 are used up
  await expect(db.ledger.planEdit({ ...by, ...tooMuch, expected_version: version })).rejects.toThrow(); // ambiguous
  const ack = await db.ledger.planEdit({ ...by, ...enough, expected_version: version });
  expect(ack).toMatchObject({ coalesced: true });
  const more = { old_text: '[x] item 0;', new_text: '[ ] item 0;' };
  expect(await db.ledger.planEdit({ ...by, ...more, expected_version: ack.version })).toMatchObject({
    coalesced: false,
    revision_number: 2,
  });
});

test.each(['agent', 'browser'])('deleting a section of a short plan stays in history (%s)', async (policy) => {
  const section = `\n\n## Section\n${'words '.repeat(100)}`;
  const before = `# Plan${section}\n\n## Rest\n${'text '.repeat(60)}`;
  const cast = await makePlan(db, 'x');
  const user = { principal: cast.user, task_id: cast.task, policy };
  let { version } = cast.created;
  version = (await db.ledger.planReplace({ ...user, content: before, expected_version: version })).version;
  const without = before.replace(section, '');
  const ack = await db.ledger.planReplace({ ...user, content: without, expected_version: version });
  expect(ack).toMatchObject({ coalesced: false, revision_number: 3 });
  expect((await history(db, cast)).slice(1)).toEqual([before, without]);
});

test('an append removes nothing but the white space it trims', async () => {
  for (const [spaces, joins] of [
    [512, true],
    [513, false],
  ] as const) {
    const cast = await makePlan(db, `${'a'.repeat(3_000)}${'\u3000'.repeat(spaces)}`);
    const ack = await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
    expect(ack).toMatchObject({ coalesced: joins });
  }
  const cast = await makePlan(db, `a${'\n'.repeat(514)}`); // two of them are the blank line that follows
  const ack = await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: 'b' });
  expect(ack).toMatchObject({ coalesced: true });
});
