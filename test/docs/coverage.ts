import type { Block, Page } from './blocks.ts';

/** Which test executes the blocks of a page in a language. Blocks that cannot be executed are listed below. */
export const executedBy: Partial<Record<Page, Record<string, string>>> = {
  'README.md': {
    sh: 'readme.test.ts',
    sql: 'readme.test.ts',
    json: 'readme.test.ts',
    python: 'readme.test.ts',
    go: 'readme.test.ts',
    ts: 'library.test.ts',
  },
  'docs/dba.md': { sql: 'dba.test.ts' },
  'docs/deliveries.md': { sql: 'deliveries.test.ts' },
  'docs/operations.md': { sql: 'dba.test.ts', sh: 'backup.test.ts' },
  'docs/errors.md': { sql: 'statements.test.ts', ts: 'library.test.ts' },
  'docs/hooks.md': { ts: 'library.test.ts', js: 'hooks.test.ts' },
  'docs/scaling.md': { sql: 'statements.test.ts' },
  'docs/websocket.md': { ts: 'library.test.ts' },
  'docs/agents.md': { json: 'agents.test.ts', js: 'agents.test.ts' },
};

/** Blocks that no test executes, by their first line, and why. */
export const notExecuted: { page: Page; firstLine: string; reason: string }[] = [
  {
    page: 'README.md',
    firstLine: 'npm ci && npm start',
    reason: 'would replace the packages that run the test; start.test.ts tests start, and .ci/run installs',
  },
  {
    page: 'README.md',
    firstLine:
      'claude mcp add --transport http planledger http://127.0.0.1:4141/mcp --header "Authorization: Bearer $PLANLEDGER_TOKEN"',
    reason: 'needs a program of others; readme.test.ts connects with the URL and the command it names',
  },
  {
    page: 'README.md',
    firstLine: 'codex mcp add planledger --url http://127.0.0.1:4141/mcp --bearer-token-env-var PLANLEDGER_TOKEN',
    reason: 'needs a program of others; readme.test.ts connects with the URL and the command it names',
  },
  {
    page: 'CONTRIBUTING.md',
    firstLine: 'npm ci',
    reason: 'would run the suite inside itself; blocks.test.ts checks that each script exists',
  },
  {
    page: 'docs/performance.md',
    firstLine: 'npm run bench',
    reason: 'takes minutes; bench.test.ts runs one scenario of it',
  },
];

export function isListed(block: Block): boolean {
  return notExecuted.some(
    ({ page, firstLine }) => page === block.page && firstLine === block.text.slice(0, block.text.indexOf('\n')),
  );
}

export function isExecuted(block: Block): boolean {
  return executedBy[block.page]?.[block.language] !== undefined && !isListed(block);
}
