import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();

test('a plan is created, appended to, edited and read back', async () => {
  const { agent, task } = await makeCast(db);
  await db.ledger.planCreate({ principal: agent, task_id: task, content: '# Plan\n\n- [ ] one\n' });
  const appended = await db.ledger.planAppend({ principal: agent, task_id: task, fragment: '\n  ## Next\n' });
  expect(appended).toMatchObject({ outcome: 'appended', coalesced: true, revision_number: 1 });
  await db.ledger.planEdit({
    principal: agent,
    task_id: task,
    expected_version: appended.version,
    old_text: '- [ ] one',
    new_text: '- [x] one',
  });
  const plan = await db.ledger.planGet({ principal: agent, task_id: task });
  expect(plan?.content).toBe('# Plan\n\n- [x] one\n\n  ## Next\n');
});
