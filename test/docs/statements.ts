import type { Block } from './blocks.ts';

/** One SQL statement of a page. */
export interface Statement {
  /** Page and line, for the message of a failed test. */
  place: string;
  text: string;
  /** The code of the error it is shown to end in; undefined when it succeeds. */
  refusal: string | undefined;
  /** Whether the page shows it in a second session. */
  second: boolean;
}

const token =
  /'(?:[^']|'')*'|\$(\w*)\$[\s\S]*?\$\1\$|--[^\n]*|;(?:[ \t]*--[ \t]*refused:[ \t]*(\w+))?|[^'$;-]+|[\s\S]/g;

/** The statements of a block. `; -- refused: CODE` after one says that it ends in that error. */
export function statementsOf(block: Block): Statement[] {
  const statements: Statement[] = [];
  let text = '';
  let line = block.line;
  let start = line;
  for (const match of block.text.matchAll(token)) {
    const piece = match[0];
    if (text.trim() === '') start = line;
    line += piece.split('\n').length - 1;
    if (piece.startsWith('--')) continue;
    if (!piece.startsWith(';')) {
      text += piece;
      continue;
    }
    statements.push({
      place: `${block.page}:${start}`,
      text: text.trim(),
      refusal: match[2],
      second: block.text.startsWith('-- second session'),
    });
    text = '';
  }
  if (text.trim() !== '') throw new Error(`${block.page}: the statement at line ${start} has no end`);
  return statements;
}
