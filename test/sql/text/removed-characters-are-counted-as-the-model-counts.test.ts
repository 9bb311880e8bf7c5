import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { removedCharacters } from '../../support/model-text.ts';

const db = useDatabase();

// Neighbours share bytes at their start or end, so that counting bytes, or cutting inside a character, shows.
const letters = ['a', 'b', '\u0301', 'é', 'è', 'ĩ', 'ぁ', 'あ', 'ヂ', '🚀', '🚁', '🛀', '𐀀'];
const text = fc.array(fc.constantFrom(...letters), { maxLength: 12 }).map((all) => all.join(''));
const related = fc
  .tuple(text, text, text, text)
  .map(([start, before, after, end]): [string, string] => [start + before + end, start + after + end]);

test('for every pair of texts', async () => {
  const pairs = fc.sample(fc.oneof(related, fc.tuple(text, text)), { numRuns: 3_000 });
  const rows = await db.admin<{ before: string; after: string; removed: number }[]>`
    select p ->> 0 as before, p ->> 1 as after, planledger.text_removed_chars(p ->> 0, p ->> 1) as removed
    from jsonb_array_elements(${db.admin.json(pairs)}) p`;
  expect(rows).toHaveLength(3_000);
  const wrong = rows.filter(({ before, after, removed }) => removed !== removedCharacters(before, after));
  expect(wrong).toEqual([]);
});
