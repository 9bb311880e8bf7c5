import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connect, createLedger, type Ledger, migrate, openPool } from '../../src/index.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { launch } from '../surfaces/cli/process.ts';
import { startHttp } from '../surfaces/mcp/clients.ts';
import { executedBlocks, root } from './blocks.ts';

const db = useDatabase();

test('every ts block of the pages has the right types and prints what its comments say', async () => {
  const administrator = createLedger(db.admin);
  await administrator.workspaceCreate({ name: 'Sample', workspace_id: 'sample' });
  const { id } = await administrator.principalCreate({ workspace_id: 'sample', kind: 'user' });
  await administrator.taskCreate({ principal: id, task_id: 'sample-task', title: 'Sample' });
  await administrator.planCreate({ principal: id, task_id: 'sample-task', content: '# Sample' });
  const { token } = await administrator.tokenCreate({ principal: id, name: 'docs' });

  const folder = await mkdtemp(path.join(os.tmpdir(), 'planledger-docs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const tsPages = ['README.md', 'docs/errors.md', 'docs/hooks.md', 'docs/websocket.md'] as const;
  const blocks = (await Promise.all(tsPages.map((page) => executedBlocks(page, 'ts')))).flat();
  const files = blocks.map((block, index) => ({ block, file: path.join(folder, `block-${index}.mts`) }));
  const library = JSON.stringify(path.join(root, 'src/index.ts'));
  const client = JSON.stringify(path.join(root, 'src/client/index.ts'));
  const server = new URL((await startHttp(db)).url).host;
  for (const { block, file } of files) {
    const text = block.text.replace(`'planledger'`, library).replace(`'planledger/client'`, client);
    await writeFile(file, text.replace('//127.0.0.1:4141/', `//${server}/`));
  }

  const compilerOptions = {
    ...{ target: 'es2024', module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true },
    ...{ allowImportingTsExtensions: true, types: ['node'], typeRoots: [path.join(root, 'node_modules/@types')] },
  };
  await writeFile(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.mts'] }));
  const checked = await launch(path.join(root, 'node_modules/.bin/tsc'), ['-p', folder]).ended;
  expect(checked, checked.stdout).toMatchObject({ code: 0 });

  for (const { block, file } of files) {
    const env = { DATABASE_URL: db.url, PLANLEDGER_TOKEN: token };
    const result = await launch(process.execPath, [file], { env }).ended;
    expect(result, `${block.page}:${block.line} ${result.stderr}`).toMatchObject({ code: 0 });
    const promised = [...block.text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text);
    expect(promised.length).toBeGreaterThan(0);
    expect(result.stdout.trimEnd().split('\n')).toEqual(promised);
    if (!block.text.includes('// appended false')) continue;
    const again = await launch(process.execPath, [file], { env }).ended;
    expect(again.stdout, 'the second run, as the README says').toMatch(/^appended true\n/);
  }
});

test.each([
  undefined,
  '',
  'nonsense',
  'localhost:5432/plans',
  'mysql://localhost/plans',
  'host=localhost dbname=plans',
])('what is no database URL is refused as it is: %s', async (url) => {
  const refusal = {
    code: 'validation_error',
    message: expect.stringMatching(/database URL.* It is postgres:\/\/user:password@host:5432\/database,/),
  };
  await expect(connect(url as string)).rejects.toMatchObject(refusal);
  await expect(migrate(url as string)).rejects.toMatchObject(refusal);
  expect(() => openPool(url as string)).toThrow(expect.objectContaining(refusal));
});

test('what a program without types leaves out is refused by its own code', async () => {
  const { agent: principal, task: task_id } = await makeCast(db);
  const { plan_id, revision_id } = await db.ledger.planCreate({ principal, task_id, content: 'a' });
  const calls: [keyof Ledger, object, object][] = [
    ['planAppend', {}, { code: 'plan_content_required' }],
    ['planReplace', {}, { code: 'plan_content_required' }],
    ['planReplace', { content: 'b' }, { code: 'plan_version_required' }],
    ['planEdit', { new_text: 'b' }, { code: 'plan_edit_text_required' }],
    ['planEdit', { old_text: 'a' }, { code: 'validation_error', details: { argument: 'new_text' } }],
    ['planEdit', { old_text: 'a', new_text: 'b' }, { code: 'plan_version_required' }],
    ['planRestore', {}, { code: 'revision_not_found' }],
    ['planRestore', { revision_id }, { code: 'plan_version_required' }],
    ['commentCreate', { plan_id }, { code: 'validation_error', details: { argument: 'id' } }],
    ['taskCreate', {}, { code: 'validation_error', details: { argument: 'title' } }],
  ];
  for (const [method, values, refusal] of calls) {
    const call = db.ledger[method] as (values: object) => Promise<unknown>;
    await expect(call({ principal, task_id, ...values }), method).rejects.toMatchObject(refusal);
  }
  await expect((db.ledger.planGet as (values: object) => Promise<unknown>)({ task_id })).rejects.toMatchObject({
    code: 'task_unreachable',
  });
});
