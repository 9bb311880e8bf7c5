import { access, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { blocksOf, pages, root } from './blocks.ts';
import { executedBy, isExecuted, isListed, notExecuted } from './coverage.ts';

const texts = await Promise.all(
  pages.map(async (page) => ({ page, text: await readFile(path.join(root, page), 'utf8') })),
);
const blocks = (await Promise.all(pages.map(blocksOf))).flat();

test('every block is executed by a test or listed with the reason why not', () => {
  const forgotten = blocks.filter((block) => !isExecuted(block) && !isListed(block));
  expect(forgotten.map(({ page, line, language }) => `${page}:${line} ${language}`)).toEqual([]);
});

test('every entry of the list is a block of its page, once', () => {
  for (const { page, firstLine, reason } of notExecuted) {
    const found = blocks.filter((block) => block.page === page && block.text.startsWith(`${firstLine}\n`));
    expect(found, firstLine).toHaveLength(1);
    expect(reason).not.toBe('');
  }
});

test('every test that is said to execute blocks asks for them', async () => {
  for (const [page, languages] of Object.entries(executedBy)) {
    for (const [language, file] of Object.entries(languages)) {
      expect(
        blocks.some((block) => block.page === page && block.language === language && isExecuted(block)),
        `${page} has ${language} to execute`,
      ).toBe(true);
      const source = await readFile(path.join(import.meta.dirname, file), 'utf8');
      expect(source, file).toContain(`'${page}'`);
      expect(source, file).toContain(`'${language}'`);
    }
  }
});

test('every link leads to a page and a heading that are there', async () => {
  for (const { page, text } of texts) {
    for (const [, target = '', anchor] of text.matchAll(/\]\(([^)#:]*)(?:#([^)]*))?\)/g)) {
      const file = target === '' ? path.join(root, page) : path.resolve(root, path.dirname(page), target);
      await access(file);
      if (anchor === undefined) continue;
      const headings = [...(await readFile(file, 'utf8')).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
      );
      expect(headings, `${page}: ${target}#${anchor}`).toContain(anchor);
    }
  }
});

test('every npm script and program of ours that a page names exists', async () => {
  const { scripts } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  for (const { page, text } of texts) {
    for (const [, script = ''] of text.matchAll(/\bnpm run ([a-z]+)/g)) expect(scripts, page).toHaveProperty(script);
    for (const [, script = ''] of text.matchAll(/\bnpm (start|test)\b/g)) expect(scripts, page).toHaveProperty(script);
  }
  await access(path.join(root, '.ci/run'));
});

test('every file and folder that a page names exists', async () => {
  for (const { page, text } of texts) {
    for (const [, name = ''] of text.matchAll(/`((?:db|src|test|bench|docs)\/[\w./-]*)`/g)) {
      if (!name.includes('NNNN') && !/SUBJECT|NAME/.test(name)) {
        await expect(access(path.join(root, name)), `${page}: ${name}`).resolves.toBeUndefined();
      }
    }
  }
});

test('the README stays short', () => {
  expect(texts.find(({ page }) => page === 'README.md')?.text.split('\n').length).toBeLessThan(300);
});
