import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { errorTable } from '../../src/ledger/errors.ts';
import { root } from './blocks.ts';

test('docs/errors.md lists the codes that only the CLI has', async () => {
  const text = await readFile(path.join(root, 'docs/errors.md'), 'utf8');
  const [, list = ''] = text.split('for what only it can meet:');
  const documented = [...(list.split('.')[0] ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code);
  const cli = path.join(root, 'src/surfaces/cli');
  const used = new Set<string>();
  for (const file of (await readdir(cli)).filter((name) => name.endsWith('.ts'))) {
    const source = await readFile(path.join(cli, file), 'utf8');
    for (const [, code = ''] of source.matchAll(/(?:known|new ObstacleError)\(\s*'(\w+)'/g)) used.add(code);
  }
  expect(documented.sort()).toEqual([...used].filter((code) => !(code in errorTable)).sort());
});
