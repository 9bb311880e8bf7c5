import { expect, onTestFinished, test } from 'vitest';
import { useDatabase } from '../support/fixture.ts';
import { executedBlocks, type Page } from './blocks.ts';
import { driverSession } from './sessions.ts';
import { statementsOf } from './statements.ts';

const db = useDatabase();

test.each<{ page: Page; roles: string[] }>([
  { page: 'docs/errors.md', roles: [] },
  { page: 'docs/scaling.md', roles: ['planledger_pooled'] },
])('every statement of $page does what the page says', async ({ page, roles }) => {
  const session = await driverSession(db.url);
  onTestFinished(async () => {
    await session.close();
    for (const role of roles) await db.admin.unsafe(`drop role if exists ${role}`);
  });
  const statements = (await executedBlocks(page, 'sql')).flatMap(statementsOf);
  expect(statements.length).toBeGreaterThan(0);
  for (const { place, text, refusal } of statements) {
    expect(await session.run(text), `${place}: ${text}`).toBe(refusal);
  }
});
