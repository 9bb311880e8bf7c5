import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { withTurnStartHooks } from '../../src/admission/turn-start.ts';
import { findHooks } from '../../src/surfaces/cli/hooks.ts';
import { failure } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { executedBlocks } from './blocks.ts';

const db = useDatabase();

test('the module of the page refuses, reroutes and lets pass what it says', async () => {
  const [block, ...others] = await executedBlocks('docs/hooks.md', 'js');
  expect(others).toEqual([]);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'planledger-docs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'hooks.mjs');
  await writeFile(file, block?.text ?? '');
  const hooked = withTurnStartHooks(db.ledger, { sql: db.app, hooks: await findHooks(file) });
  onTestFinished(() => hooked.close());

  const { user: principal, task: task_id } = await makeCast(db);
  for (const session_id of ['old', 'new']) {
    await db.ledger.sessionCreate({ principal, task_id, name: session_id, session_id });
  }
  const add = (session_id: string, content: string) =>
    hooked.ledger.queueAdd({ principal, task_id, session_id, client_queue_id: content, content });
  expect(await add('new', 'one')).toMatchObject({ session_id: 'new' });
  expect(await add('old', 'two')).toMatchObject({ session_id: 'new' });
  expect(await failure(add('new', 'rm -rf /'))).toMatchObject({
    code: 'turn_start_failed',
    message: 'Prompts do not delete files here. Nothing was sent.',
  });
});
