import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, inject, onTestFinished, test } from 'vitest';
import { launch } from '../surfaces/cli/process.ts';
import { root } from './blocks.ts';

const page = path.join(root, 'docs/performance.md');

test('docs/performance.md names every scenario of the benchmark and no other', async () => {
  const text = await readFile(page, 'utf8');
  const [described = ''] = text.split('## Figures');
  const documented = [...described.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  const sources = (await readdir(path.join(root, 'bench'))).filter((name) => name.endsWith('.ts'));
  const measured: string[] = [];
  for (const file of sources) {
    const source = await readFile(path.join(root, 'bench', file), 'utf8');
    for (const [, name = ''] of source.matchAll(/\b([a-z_0-9]+): at(?:Most|Least)\(|\['(\w+_\d+k)',/g))
      measured.push(name);
    for (const [, name = ''] of source.matchAll(/\['(\w+_\d+k)',/g)) measured.push(name);
  }
  expect(documented.sort()).toEqual(measured.filter((name) => name !== '').sort());
});

test('a run writes what docs/performance.md says, and --only takes every name it gives', async () => {
  const text = await readFile(page, 'utf8');
  const names = /`--only NAME` runs one file of `bench\/`: ([^.]*)\./s.exec(text)?.[1] ?? '';
  const main = await readFile(path.join(root, 'bench/main.ts'), 'utf8');
  const [, list = ''] = /const scenarios = \{([^}]*)\};/.exec(main) ?? [];
  const scenarios = [...list.matchAll(/\w+/g)].map(([name]) => name);
  expect([...names.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(scenarios.sort());

  const folder = await mkdtemp(path.join(os.tmpdir(), 'planledger-docs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'bench.json');
  const args = [path.join(root, 'bench/main.ts'), '--quick', '--only', 'read', '--json', file];
  const { stderr } = await launch(process.execPath, args, { env: { TEST_DATABASE_URL: inject('serverUrl') } }).ended;
  const result = JSON.parse(await readFile(file, 'utf8').catch(() => `"${stderr}"`));
  expect(Object.keys(result)).toEqual(['read']);
  expect(Object.keys(result.read).sort()).toEqual(['atMost', 'note', 'ok', 'target', 'value']);
});
