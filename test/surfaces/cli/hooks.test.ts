import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, expect, test, vi } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { openPool } from '../../../src/postgres/connect.ts';
import { untilWaiting } from '../../chaos/support/locks.ts';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { openSocket } from '../gateway/socket.ts';
import { cli, expectMistake, type Running, startCli, useCleanup, useFolder } from './process.ts';

const db = useDatabase();
const folder = useFolder();
const kept = useCleanup();
let cast: Cast;
let by: { principal: string; task_id: string };
let message: Record<string, unknown>;
let comment: { comment_id: string; plan_id: string };

beforeEach(async () => {
  cast = await makeCast(db);
  by = { principal: cast.user, task_id: cast.task };
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a plan' });
  comment = { comment_id: randomUUID(), plan_id };
  const about = { selected_text: 'a plan', anchor_from: 0, anchor_to: 6 };
  await db.ledger.commentCreate({ ...by, ...comment, body: 'why?', ...about });
  for (const session_id of ['s', 'other']) {
    await db.ledger.sessionCreate({ ...by, name: session_id, session_id });
    await db.ledger.sessionSetState({ ...by, session_id, state: 'WAITING_FOR_INPUT' });
  }
  const refs = [{ id: comment.comment_id, version: 1 }];
  message = { task_id: cast.task, session_id: 's', client_message_id: 'm', content: 'go', plan_comment_refs: refs };
});

/** A server with the hooks of a module of this text, and a connection to it. */
async function served(module: string) {
  const file = path.join(folder.path, `${randomUUID()}.mjs`);
  await writeFile(file, module);
  const running = kept(startCli(['serve', '--port', '0', '--hooks', file], { env: { DATABASE_URL: db.url } }));
  const url = await address(running);
  const { token } = await createLedger(db.admin).tokenCreate({ principal: cast.user, name: 'test' });
  return {
    running,
    socket: await openSocket(`${url}/mcp`, token),
    beside: (name: string) => path.join(folder.path, name),
  };
}

async function address({ output }: Running): Promise<string> {
  return await vi.waitFor(
    () => {
      const [found] = /http:\/\/[\d.]+:\d+/.exec(output.stdout) ?? [];
      if (found === undefined) throw new Error(output.stderr);
      return found;
    },
    { timeout: 10_000 },
  );
}

test('hooks of a server see what came over the WebSocket, and send it elsewhere', async () => {
  const { socket, beside } = await served(`
    import { writeFile } from 'node:fs/promises';
    const seen = new URL('seen.json', import.meta.url);
    export default [
      async (start) => void (await writeFile(seen, JSON.stringify(start))),
      () => ({ session_id: 'other' }),
    ];
  `);
  const { payload } = await socket.request('message.add', message);
  expect(payload).toMatchObject({ session_id: 'other', state: 'pending' });
  const seen = JSON.parse(await readFile(beside('seen.json'), 'utf8'));
  expect(seen).toEqual({ ...message, method: 'messageAdd', principal: cast.user });
});

test('a comment edit waits while a hook runs; when its process is killed the lock is gone at once and nothing was accepted', async () => {
  const { running, socket, beside } = await served(`
    import { writeFile } from 'node:fs/promises';
    export default async () => {
      await writeFile(new URL('runs', import.meta.url), '');
      await new Promise(() => {});
    };
  `);
  const sent = socket.request('message.add', message).catch(() => 'closed');
  await vi.waitFor(() => readFile(beside('runs')), { timeout: 10_000 });
  const sql = openPool(db.url, { applicationName: 'an editor' });
  const edited = createLedger(sql).commentUpdate({ ...by, ...comment, expected_version: 1, body: 'new' });
  await untilWaiting(db.admin, 'an editor');
  const killedAt = performance.now();
  running.child.kill('SIGKILL');
  expect((await edited).comments).toMatchObject([{ body: 'new', version: 2 }]);
  expect(performance.now() - killedAt).toBeLessThan(3_000);
  expect(await sent).toBe('closed');
  const [left] = await db.admin`select count(*)::int as n from planledger.deliveries where task_id = ${cast.task}`;
  expect(left).toEqual({ n: 0 });
  await sql.end();
});

test('a hook that refuses says why; of one that fails the log shows where, and no text', async () => {
  const { running, socket } = await served(`
    export default ({ content }) => {
      if (content === 'go') throw Object.assign(new Error('Not before noon.'), { name: 'TurnStartRefusal' });
      if (content === 'other') throw new Error('secret: ' + content);
      const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      throw content === 'gone' ? proxy : Object.defineProperty(new Error(), 'name', { get: () => { throw proxy; } });
    };
  `);
  const refused = await socket.request('message.add', message);
  expect(refused).toMatchObject({
    type: 'error',
    payload: { code: 'turn_start_failed', message: 'Not before noon. Nothing was sent.' },
  });
  const failed = await socket.request('message.add', { ...message, content: 'other' });
  expect(failed.payload).toMatchObject({ code: 'turn_start_failed' });
  expect(failed.payload.message).toContain('failed or took too long');
  expect(JSON.stringify(failed)).not.toContain('secret');
  for (const content of ['gone', 'unreadable']) {
    expect(await socket.request('message.add', { ...message, content })).toMatchObject({
      payload: { code: 'turn_start_failed' },
    });
  }
  running.child.kill('SIGTERM');
  const { stderr } = await running.ended;
  expect(stderr).not.toMatch(/secret|noon/);
  const lines = stderr.split('\n').filter((line) => line.includes('turn_start_failed'));
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    {
      operation: 'start_turn',
      task_id: cast.task,
      cause: 'Error',
      at: expect.arrayContaining([expect.stringContaining('.mjs:')]),
    },
    { operation: 'start_turn', cause: 'unreadable' },
    { operation: 'start_turn', cause: 'unreadable' },
  ]);
});

test.each([
  ['is not there', undefined, 'Cannot load'],
  ['is no module', 'export default (', 'Cannot load'],
  ['exports nothing', 'export const hook = () => {};', 'exports no hooks'],
  ['exports something else', 'export default [() => {}, 1];', 'exports no hooks'],
])('a file of hooks that %s is a mistake of its operator', async (_, text, says) => {
  const file = path.join(folder.path, `${randomUUID()}.mjs`);
  if (text !== undefined) await writeFile(file, text);
  const env = { DATABASE_URL: db.url, PLANLEDGER_HOOKS: file };
  expectMistake(await cli(['serve', '--port', '0'], { env }), 2, says, 'docs/hooks.md');
});
