import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { expect, test, vi } from 'vitest';
import { readAgents } from '../../src/transports/agents-file.ts';
import { useDatabase } from '../support/fixture.ts';
import { launch, startCli, succeed, useCaller, useCleanup, useFolder } from '../surfaces/cli/process.ts';
import { executedBlocks } from './blocks.ts';

const page = 'docs/agents.md';
const db = useDatabase();
const caller = useCaller(db);
const folder = useFolder();
const kept = useCleanup();
const until = (what: () => Promise<unknown> | unknown) => vi.waitFor(what, { timeout: 20_000, interval: 50 });

async function only(language: string): Promise<string> {
  const blocks = await executedBlocks(page, language);
  expect(blocks).toHaveLength(1);
  return blocks[0]?.text ?? '';
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

test.each([
  ['any text', 'a secret, ünïcode'],
  ['one of Standard Webhooks', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
])(
  'the receiver of the page gets, with the file of the page, what a worker signs, once, and refuses all else: %s',
  async (_, secret) => {
    const port = String(await freePort());
    const file = path.join(folder.path, 'agents.json');
    await writeFile(file, (await only('json')).replace('4999', port));
    expect((await readAgents(file)).get('coder')).toMatchObject({ cwd: path.join(folder.path, '../project') });
    const program = path.join(folder.path, 'receiver.mjs');
    await writeFile(program, (await only('js')).replace('4999', port));

    const receiver = kept(launch(process.execPath, [program], { env: { PLANLEDGER_HOOK_SECRET: secret } }));
    const url = `http://127.0.0.1:${port}/prompts`;
    await until(async () => expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401));
    const now = String(Math.floor(Date.now() / 1000));
    const forged = { 'webhook-id': 'x', 'webhook-timestamp': now, 'webhook-signature': 'v1,x' };
    expect((await fetch(url, { method: 'POST', body: '{"content":"forged"}', headers: forged })).status).toBe(401);

    const { task } = caller.cast;
    const { env } = caller;
    kept(startCli(['worker', '--agents', file], { env: { ...env, PLANLEDGER_HOOK_SECRET: secret } }));
    const made = await succeed(['session', 'create', task, 'Hook', '--agent', 'hook', '--transport', 'webhook'], {
      env,
    });
    await succeed(['send', task, 'From the page, 🦜', '--session', made.trim()], { env });
    await until(() => expect(receiver.output.stdout).toBe('From the page, 🦜\n'));
    await until(async () => expect(await succeed(['receipt', 'list', task], { env })).toContain('acknowledged'));
    expect(receiver.output.stdout).toBe('From the page, 🦜\n');
  },
);
