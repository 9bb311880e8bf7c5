import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { errorTable } from '../../src/ledger/errors.ts';
import { useDatabase } from '../support/fixture.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const db = useDatabase();

const table = Object.entries(errorTable).filter(([, entry]) => entry.sqlState !== null);

test('the error table and the catalogue in the database are the same set', async () => {
  const rows = await db.ledger.errorCatalog({});
  const catalogue = rows.map(({ code, sqlstate, retry_safe }) => ({ code, sqlstate, retry_safe }));
  const expected = table.map(([code, entry]) => ({ code, sqlstate: entry.sqlState, retry_safe: entry.retrySafe }));
  const byCode = (a: { code: string }, b: { code: string }) => a.code.localeCompare(b.code);
  expect(catalogue.sort(byCode)).toEqual(expected.sort(byCode));
  for (const { sqlstate } of rows) expect(sqlstate).toMatch(/^TP[45]\d\d$/);
});

test('the SQL sources raise exactly the codes of the table', async () => {
  const files = await readdir(path.join(root, 'db/functions'), { recursive: true });
  const raised = new Set<string>();
  for (const file of files.filter((name) => name.endsWith('.sql'))) {
    const text = await readFile(path.join(root, 'db/functions', file), 'utf8');
    for (const [, code] of text.matchAll(/(?:refuse|revision_text)\('(\w+)'/g)) raised.add(code ?? '');
  }
  expect([...raised].sort()).toEqual(table.map(([code]) => code).sort());
});

test('the HTTP status is the number in the SQLSTATE', () => {
  for (const [code, entry] of table) expect(entry.sqlState, code).toBe(`TP${entry.httpStatus}`);
});

test('docs/errors.md has a row for every code and no other', async () => {
  const text = await readFile(path.join(root, 'docs/errors.md'), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| `?(TP\d{3}|–)`? \|/gm)].map(([, code, state]) => ({ code, state }));
  const expected = Object.entries(errorTable).map(([code, entry]) => ({ code, state: entry.sqlState ?? '–' }));
  const byCode = (a: { code?: string | undefined }, b: { code?: string | undefined }) =>
    (a.code ?? '').localeCompare(b.code ?? '');
  expect(rows.sort(byCode)).toEqual(expected.sort(byCode));
});
