import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { promptVectors } from '../vectors/load.ts';

const db = useDatabase();

interface Comment {
  selected_text: string;
  body: string;
}

async function render(comments: Comment[], base: string): Promise<string> {
  const [row] = await db.admin<{ prompt: string }[]>`
    select planledger.prompt_render(
      ${comments.map(({ selected_text }) => selected_text)}::text[], ${comments.map(({ body }) => body)}::text[], ${base}
    ) as prompt`;
  return row?.prompt ?? '';
}

test('the vectors are all there', () => {
  expect(promptVectors).toHaveLength(7);
});

test.each(promptVectors)('$name', async ({ comments, base, prompt }) => {
  expect(await render(comments, base)).toBe(prompt);
});

test('without comments the prompt is the base content', async () => {
  expect(await render([], 'as it is\r\n')).toBe('as it is\r\n');
});

/** Takes a rendered prompt apart by the rules of Markdown: fences and quotes as they stand. */
function parse(prompt: string, count: number): { comments: Comment[]; base: string } {
  let rest = prompt.slice('### Plan Comments\n\n'.length);
  const comments = Array.from({ length: count }, () => {
    const [fence = ''] = /^`+/.exec(rest) ?? [];
    const end = rest.indexOf(`\n${fence}\n`, fence.length);
    const selected_text = rest.slice(fence.length + 1, end);
    rest = rest.slice(end + fence.length + 2);
    const lines: string[] = [];
    while (rest.startsWith('> ')) {
      const line = rest.slice(0, rest.indexOf('\n'));
      lines.push(line.slice(2));
      rest = rest.slice(line.length + 1);
    }
    expect(rest.startsWith('\n')).toBe(true);
    rest = rest.slice(1);
    return { selected_text, body: lines.join('\n') };
  });
  expect(rest.startsWith('---\n\n')).toBe(true);
  return { comments, base: rest.slice('---\n\n'.length) };
}

test('whatever the texts are, none leaves its fence or quote, and nothing of them is lost', async () => {
  const text = fc
    .array(
      fc.constantFrom('`', '```', '````', '\n', '\r', '\r\n', '> ', '---', ' ', 'a', 'é', '😀', '$1', '\\1', '\\n'),
    )
    .map((parts) => parts.join(''));
  const comment = fc.record({ selected_text: text.map((one) => `s${one}`), body: text.map((one) => `b${one}`) });
  await fc.assert(
    fc.asyncProperty(fc.array(comment, { minLength: 1, maxLength: 4 }), text, async (comments, base) => {
      const parsed = parse(await render(comments, base), comments.length);
      expect(parsed.base).toBe(base);
      expect(parsed.comments).toEqual(
        comments.map(({ selected_text, body }) => ({ selected_text, body: body.replaceAll(/\r\n|\r/g, '\n') })),
      );
    }),
    { numRuns: 300 },
  );
});

test.each([
  { name: 'nothing but backticks', selected_text: '`'.repeat(262_144), fence: 262_145 },
  { name: 'a backtick every other character', selected_text: '`a'.repeat(131_072), fence: 3 },
  { name: 'two long runs', selected_text: `${'`'.repeat(100_000)}a${'`'.repeat(100_001)}`, fence: 100_002 },
])('a hostile selection is rendered within a second: $name', async ({ selected_text, fence }) => {
  const started = performance.now();
  const prompt = await render([{ selected_text, body: '\r'.repeat(65_536) }], '');
  expect(performance.now() - started).toBeLessThan(1_000);
  expect(prompt.slice('### Plan Comments\n\n'.length).indexOf('\n')).toBe(fence);
});
