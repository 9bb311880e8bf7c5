/** Writes one line to stdout, where results go and nothing else. */
export function printLine(text: string): void {
  process.stdout.write(`${visible(text)}\n`);
}

/** Writes one line to stderr: what a person may want to know, and a script need not. */
export function note(text: string): void {
  process.stderr.write(`${visible(text)}\n`);
}

/** Writes one JSON document to stdout, for programs: nothing in it is altered. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Writes aligned columns under their headings. */
export function printTable(headings: readonly string[], rows: readonly (readonly string[])[]): void {
  const cells = [headings, ...rows].map((row) => row.map(visible));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  for (const row of cells) {
    printLine(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    );
  }
}

/**
 * Names, titles and arguments are somebody's text: what would move the cursor, begin a line or turn one around is shown,
 * not sent. Doing it twice changes nothing.
 */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** The beginning of a text, for a cell of a table. */
export function short(text: string): string {
  const [line = ''] = text.split('\n');
  return line === text && line.length <= 60 ? line : `${line.slice(0, 59)}…`;
}

/** A point in time, to the second, in UTC. */
export function when(time: Date | null): string {
  return time === null ? '-' : time.toISOString().replace('T', ' ').slice(0, 19);
}
