import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { checkout, succeed } from './process.ts';

const lines = (file: string) => readFileSync(path.join(checkout, file), 'utf8').split('\n');

test('the Dockerfile copies what exists and starts a command that exists', async () => {
  const dockerfile = lines('Dockerfile');
  const copies = dockerfile.filter((line) => line.startsWith('COPY ') && !line.includes('--from='));
  const sources = copies.flatMap((line) => line.split(' ').slice(1, -1));
  expect(sources).toContain('package-lock.json');
  for (const source of sources) expect(existsSync(path.join(checkout, source)), source).toBe(true);

  const list = (instruction: string): string[] =>
    JSON.parse(dockerfile.find((line) => line.startsWith(`${instruction} [`))?.slice(instruction.length) ?? '[]');
  const { bin } = JSON.parse(readFileSync(path.join(checkout, 'package.json'), 'utf8'));
  expect(list('ENTRYPOINT')).toEqual(['node', bin.planledger]);
  expect(await succeed([...list('CMD'), '--help'])).toContain('Usage: planledger serve');
  expect(dockerfile).toContain('USER node');
});

test('the commands that docker-compose.yml shows are commands that exist', async () => {
  const shown = lines('docker-compose.yml').flatMap((line) => line.split('main.js ')[1] ?? []);
  expect(shown).toHaveLength(2);
  for (const command of shown) expect(await succeed([...command.split(' '), '--help'])).toContain('Usage: planledger');
});
