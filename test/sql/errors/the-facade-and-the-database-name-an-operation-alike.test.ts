import { expect, test } from 'vitest';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { failure } from '../observe.ts';

const db = useDatabase();
type Call = (values: Record<string, unknown>) => Promise<unknown>;
const principal = crypto.randomUUID();
const task_id = '';

const refused: [keyof Ledger, Record<string, unknown>][] = [
  ['planAppend', { principal, task_id, fragment: 'x' }],
  ['planCreate', { principal, task_id, content: 'x' }],
  ['planDelete', { principal, task_id }],
  ['planEdit', { principal, task_id, expected_version: 'x', old_text: 'x', new_text: 'x' }],
  ['planGet', { principal, task_id }],
  ['planMarkImplementationStarted', { principal, task_id, session_id: 'x' }],
  ['planReplace', { principal, task_id, content: 'x' }],
  ['planRestore', { principal, task_id, revision_id: 'x', expected_version: 'x', expected_revision_version: 'x' }],
  ['planRevert', { principal, task_id, revision_id: 'x' }],
  ['principalCreate', { workspace_id: 'x', kind: 'nobody' }],
  ['requestsPrune', { keep: '1 hour' }],
  ['revisionGet', { principal, task_id, revision_id: 'x' }],
  ['revisionList', { principal, task_id }],
  ['settingsChange', { lock_wait: '0' }],
  ['taskArchive', { principal, task_id }],
  ['taskCreate', { principal, task_id, title: 'x' }],
  ['taskDelete', { principal, task_id }],
  ['taskGet', { principal, task_id }],
  ['taskList', { principal, limit: 0 }],
  ['tokenCreate', { principal, name: '' }],
  ['tokenRevoke', { token_id: 'x' }],
  ['workspaceCreate', { name: '' }],
];

test.each(refused)('%s', async (method, values) => {
  const administrator = createLedger(db.admin);
  const error = await failure((administrator[method] as unknown as Call)(values));
  expect(error).toMatchObject({ code: 'validation_error', writeApplied: false, cause: { code: 'TP400' } });
  expect(error.operation).toBe(signatures[method].operation);
});
