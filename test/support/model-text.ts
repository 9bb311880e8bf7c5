/** The text rules of the specification, written again and apart from the database. */

export function bytes(text: string): number {
  return Buffer.byteLength(text);
}

export function characters(text: string): number {
  return [...text].length;
}

const space = /^\p{White_Space}*$/u;

export function isBlank(text: string): boolean {
  return space.test(text);
}

/** The append rule. */
export function compose(stored: string, fragment: string): string {
  let end = stored.length;
  while (end > 0 && isBlank(stored.charAt(end - 1))) end--;
  const lines = fragment.split('\n');
  while (lines.length > 1 && isBlank(lines[0] ?? '')) lines.shift();
  const kept = lines.join('\n');
  return end === 0 ? kept : `${stored.slice(0, end)}\n\n${kept}`;
}

/** How often `needle` begins in `text`, overlaps included. */
export function occurrences(text: string, needle: string): number {
  let found = 0;
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + 1)) found++;
  return found;
}

/** Characters of `before` that lie between its common start and its common end with `after`. */
export function removedCharacters(before: string, after: string): number {
  const [old, now] = [[...before], [...after]];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  return old.length - start - end;
}
