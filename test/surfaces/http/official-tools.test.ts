import { execFile } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { startHttp, stdioEntry, tokenFor, toolNames } from '../mcp/clients.ts';

const db = useDatabase();
const run = promisify(execFile);
const root = fileURLToPath(new URL('../../../', import.meta.url));
const bin = (name: string) => `${root}node_modules/.bin/${name}`;

async function start() {
  const cast = await makeCast(db);
  const { token } = await tokenFor(db, cast.agent);
  return { cast, token, ...(await startHttp(db)) };
}

/** Runs the official Inspector without its web page and answers what it prints. */
async function inspect(target: string[], method: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(bin('mcp-inspector'), ['--cli', ...target, ...method], { timeout: 40_000, cwd: root });
  return JSON.parse(stdout);
}

test('the official Inspector lists and calls the tools over both transports', async () => {
  const { url, token, cast } = await start();
  const overHttp = [url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`];
  const overStdio = ['-e', `DATABASE_URL=${db.url}`, '-e', `PLANLEDGER_TOKEN=${token}`, process.execPath, stdioEntry];
  const expected = ['start'];
  for (const target of [overHttp, overStdio]) {
    const { tools } = await inspect(target, ['--method', 'tools/list', '--strict']);
    expect((tools as { name: string }[]).map(({ name }) => name)).toEqual(Object.values(toolNames));

    const update = ['--method', 'tools/call', '--tool-name', toolNames.update ?? ''];
    const mode = expected.length === 1 ? 'create' : 'update';
    if (mode === 'create') {
      const create = ['--method', 'tools/call', '--tool-name', toolNames.create ?? '', '--tool-arg', 'content=start'];
      expect(await inspect(target, create)).toMatchObject({ structuredContent: { outcome: 'created' } });
    }
    const addition = `addition ${expected.length}`;
    const appended = await inspect(target, [...update, '--tool-arg', `content=${addition}`, 'mode=append']);
    expect(appended).toMatchObject({ structuredContent: { outcome: 'appended' } });
    expected.push(addition);
  }
  expect((await db.ledger.planGet({ principal: cast.agent, task_id: cast.task }))?.content).toBe(expected.join('\n\n'));
});

/** The conformance suite sends no token, so this stands in front and adds one; everything else passes as it came. */
async function withToken(url: string, token: string): Promise<string> {
  const upstream = new URL(url);
  const proxy = createServer((incoming, outgoing) => {
    const onward = request(
      {
        host: upstream.hostname,
        port: upstream.port,
        path: incoming.url,
        method: incoming.method,
        headers: { ...incoming.headers, authorization: `Bearer ${token}` },
      },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`;
}

// The others call tools, prompts or resources of a server made for the suite, by name, or test what only such a server
// has; the README says which and why.
test.each(['server-initialize', 'ping', 'tools-list', 'server-sse-multiple-streams', 'dns-rebinding-protection'])(
  'conformance: %s',
  async (scenario) => {
    const { url, token } = await start();
    const target = await withToken(url, token);
    const { stdout } = await run(bin('conformance'), ['server', '--url', target, '--scenario', scenario], {
      timeout: 40_000,
      cwd: root,
    });
    expect(stdout).toMatch(/Passed: [1-9]\d*\/\d+, 0 failed/);
  },
);
