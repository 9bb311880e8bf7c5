import { readFile } from 'node:fs/promises';
import path from 'node:path';

export const root = path.resolve(import.meta.dirname, '../..');

/** The pages whose fenced blocks the tests of this folder account for. */
export const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'REVIEW.md',
  'docs/errors.md',
  'docs/dba.md',
  'docs/hooks.md',
  'docs/deliveries.md',
  'docs/operations.md',
  'docs/performance.md',
  'docs/scaling.md',
  'docs/websocket.md',
  'docs/agents.md',
] as const;

export type Page = (typeof pages)[number];

/** A fenced block of a page. */
export interface Block {
  page: Page;
  /** Where its first line stands in the page. */
  line: number;
  language: string;
  text: string;
}

/** Every fenced block of a page, in order. */
export async function blocksOf(page: Page): Promise<Block[]> {
  const lines = (await readFile(path.join(root, page), 'utf8')).split('\n');
  const blocks: Block[] = [];
  let open: Block | undefined;
  for (const [index, line] of lines.entries()) {
    const fence = /^\s*```(\S*)\s*$/.exec(line);
    if (fence === null) {
      if (open !== undefined) open.text += `${line}\n`;
    } else if (open === undefined) {
      open = { page, line: index + 2, language: fence[1] ?? '', text: '' };
    } else {
      blocks.push(open);
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${page}: the block at line ${open.line} is not closed`);
  return blocks;
}

/** The blocks of a page in one language that `coverage.ts` says are executed. */
export async function executedBlocks(page: Page, language: string): Promise<Block[]> {
  const { isExecuted } = await import('./coverage.ts');
  return (await blocksOf(page)).filter((block) => block.language === language && isExecuted(block));
}
