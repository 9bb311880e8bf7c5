/** Writes a line to stdout, where results go and nothing else. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Writes a line to stderr: what a person may want to know, and a script need not. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Writes one JSON document to stdout. */
export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
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

/** Names and titles are other people's text: what would move the cursor or turn the line around is shown, not sent. */
export function visible(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    return `\\u{${character.codePointAt(0)?.toString(16)}}`;
  });
}

/** A point in time, to the second, in UTC. */
export function when(time: Date | null): string {
  return time === null ? '-' : time.toISOString().replace('T', ' ').slice(0, 19);
}
