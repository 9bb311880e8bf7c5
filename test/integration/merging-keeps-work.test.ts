import fc from 'fast-check';
import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();
const budget = 512;

// Every written piece is one character of its own, repeated. So what became of a piece can be counted, however the text
// around it was cut and moved, and no piece can be mistaken for another.
const firstCharacter = 0x4e00;

interface Write {
  kind: 'append' | 'replace' | 'edit';
  length: number;
  /** Where a replace or edit cuts, and how much it takes, both in percent of the text. */
  from: number;
  takes: number;
}

const write: fc.Arbitrary<Write> = fc.record({
  kind: fc.constantFrom('append', 'replace', 'replace', 'edit'),
  length: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 1500 })),
  from: fc.integer({ min: 0, max: 100 }),
  takes: fc.oneof(fc.integer({ min: 0, max: 10 }), fc.integer({ min: 10, max: 100 })),
});

/** How many characters of `before` cannot be in `after`: at least what is missing of each piece. */
function lost(before: string, after: string): number {
  const counts = new Map<string, number>();
  for (const character of before) if (character >= '一') counts.set(character, (counts.get(character) ?? 0) + 1);
  for (const character of after) counts.set(character, (counts.get(character) ?? 0) - 1);
  return [...counts.values()].filter((missing) => missing > 0).reduce((sum, missing) => sum + missing, 0);
}

test('random writes of one principal within the window: of any text HEAD ever was, a revision keeps all but 512 characters', async () => {
  let merged = 0;
  let separate = 0;
  let mostLost = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 10, maxLength: 25 }), async (writes) => {
      const { task, agent } = await makeCast(db);
      const on = { principal: agent, task_id: task };
      const piece = (index: number, length: number) => String.fromCodePoint(firstCharacter + index).repeat(length);
      let ack = await db.ledger.planCreate({ ...on, content: piece(0, 700) });
      const states = [{ revision: ack.revision_number, content: piece(0, 700) }];
      for (const [index, { kind, length, from, takes }] of writes.entries()) {
        const now = states.at(-1)?.content ?? '';
        const start = Math.floor((from * now.length) / 100);
        const end = Math.min(now.length, start + Math.floor((takes * now.length) / 100));
        const added = piece(index + 1, length);
        const changed = now.slice(0, start) + added + now.slice(end);
        const acknowledged = { expected_version: ack.version, allow_truncation: true };
        if (kind === 'append') {
          ack = await db.ledger.planAppend({ ...on, fragment: added || '-' });
        } else if (kind === 'edit' && now !== '') {
          // The whole text occurs exactly once; the server is told nothing of where the change is.
          ack = await db.ledger.planEdit({ ...on, ...acknowledged, old_text: now, new_text: changed || '-' });
        } else {
          ack = await db.ledger.planReplace({ ...on, ...acknowledged, content: changed || '-' });
        }
        const plan = await db.ledger.planGet(on);
        states.push({ revision: ack.revision_number, content: plan?.content ?? '' });
        if (ack.coalesced) merged += 1;
        else separate += 1;
      }

      const revisions = await db.admin<{ revision_number: number; content: string }[]>`
        select revision_number, content from planledger.revision_document where task_id = ${task}`;
      const kept = new Map(revisions.map(({ revision_number, content }) => [revision_number, content]));
      for (const { revision, content } of states) {
        const gone = lost(content, kept.get(revision) ?? '');
        mostLost = Math.max(mostLost, gone);
        expect(gone, `of a text that revision ${revision} held`).toBeLessThanOrEqual(budget);
      }
      // Said of whole pieces: one of more than 512 characters never vanishes from HEAD and history.
      const all = revisions.map(({ content }) => content).join('');
      const vanished = [...new Set(states.flatMap(({ content }) => [...content]))].filter(
        (character) =>
          !all.includes(character) && states.some(({ content }) => content.split(character).length - 1 > budget),
      );
      expect(vanished).toEqual([]);
    }),
    { numRuns: 25 },
  );
  // It says something only where writes merged, where others did not, and where merging took something away.
  expect(merged).toBeGreaterThan(50);
  expect(separate).toBeGreaterThan(50);
  expect(mostLost).toBeGreaterThan(0);
});
