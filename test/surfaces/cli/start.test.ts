import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import postgres from 'postgres';
import { expect, test, vi } from 'vitest';
import { checkout, cli, launch, processesIn, type Running, ready, startCli, useCleanup, useFolder } from './process.ts';

const folder = useFolder();
const kept = useCleanup();

function start(dataDir: string): Running & { file: string } {
  const file = `${dataDir}.ready.json`;
  const running = startCli(['start', '--port', '0', '--data-dir', dataDir, '--ready-file', file]);
  return { ...kept(running), file };
}

async function stop(running: Running, signal: NodeJS.Signals = 'SIGINT'): Promise<number | null> {
  running.child.kill(signal);
  return (await running.ended).code;
}

async function waitForBanner(running: Running): Promise<string> {
  while (!running.output.stdout.includes('Ctrl-C stops it')) await new Promise((resolve) => setTimeout(resolve, 20));
  return running.output.stdout;
}

test('the first start is ready in seconds, and both commands of its banner work as printed in another terminal', async () => {
  const began = performance.now();
  const running = start(path.join(folder.path, "it's new"));
  const info = await ready(running, running.file);
  expect(performance.now() - began).toBeLessThan(30_000);
  const text = await waitForBanner(running);
  for (const key of ['url', 'mcp_url', 'token', 'database_url']) expect(text).toContain(info[key]);
  expect(info).toMatchObject({ pid: running.child.pid, task_id: 'sample-task' });
  expect(info.ws_url).toMatch(/^ws:\/\/127\.0\.0\.1:\d+\//);
  expect(text).toContain(`claude mcp add --transport http planledger ${info.mcp_url} --header`);

  const commands = text.split('\n').filter((line) => line.trim().startsWith('npx planledger '));
  expect(commands).toHaveLength(2);
  const [append = '', show = ''] = commands;
  // The environment of that terminal may name another database; the line says which one it means.
  const terminal = { cwd: checkout, env: { DATABASE_URL: 'postgres://127.0.0.1:1/x', PLANLEDGER_TOKEN: 'x' } };
  const appended = await launch('sh', ['-c', append], terminal).ended;
  expect(appended, appended.stderr).toMatchObject({ code: 0 });
  expect(appended.stdout).toMatch(/^appended sample-task: joined revision 1, \d+ bytes, version /);
  const shown = await launch('sh', ['-c', show], terminal).ended;
  expect(shown, shown.stderr).toMatchObject({ code: 0 });
  expect(shown.stdout).toMatch(/^# Try Planledger\n[\s\S]*\n\n- \[ \] Written from another terminal$/);
  expect(await stop(running)).toBe(0);
});

test('a stopped start leaves no process and no announcement, and the next one finds plan and token again', async () => {
  const dataDir = path.join(folder.path, 'again');
  const first = start(dataDir);
  const before = await ready(first, first.file);
  await cli(['plan', 'append', 'sample-task', 'kept', '--data-dir', dataDir]);
  // Under npm one Ctrl-C arrives twice.
  first.child.kill('SIGINT');
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(await stop(first)).toBe(0);
  expect(first.output.stderr).toContain('Stopping.');
  expect(await processesIn(dataDir)).toEqual([]);
  await expect(stat(first.file)).rejects.toMatchObject({ code: 'ENOENT' });
  expect(await cli(['plan', 'show', 'sample-task', '--data-dir', dataDir])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('No `planledger start` is running on'),
  });

  const second = start(dataDir);
  const after = await ready(second, second.file);
  expect(after.token).toBe(before.token);
  expect(after.task_id).toBe(before.task_id);
  const shown = await cli(['plan', 'show', 'sample-task', '--data-dir', dataDir]);
  expect(shown.stdout).toMatch(/\n\nkept$/);
  expect((await cli(['token', 'list', '--data-dir', dataDir, '--json'])).stdout.match(/"name"/g)).toHaveLength(1);
  expect(await stop(second, 'SIGTERM')).toBe(0);
});

test('a killed start is taken over by the next one, with everything that was written, and stops cleanly', async () => {
  const dataDir = path.join(folder.path, 'killed');
  const first = start(dataDir);
  const before = await ready(first, first.file);
  await cli(['plan', 'append', 'sample-task', 'survives', '--data-dir', dataDir]);
  first.child.kill('SIGKILL');
  await first.ended;
  expect((await processesIn(dataDir)).length).toBeGreaterThan(0); // its PostgreSQL

  const second = start(dataDir);
  while (!second.output.stderr.includes('runs on')) await new Promise((resolve) => setTimeout(resolve, 5));
  const after = await ready(second, second.file); // never that of the first
  expect(after).toMatchObject({ token: before.token, database_url: before.database_url, pid: second.child.pid });
  const shown = await cli(['plan', 'show', 'sample-task', '--data-dir', dataDir]);
  expect(shown.stdout).toMatch(/\n\nsurvives$/);
  expect(await stop(second)).toBe(0);
  expect(await processesIn(dataDir)).toEqual([]);
});

test('a second start on one data folder is refused with what to do, and leaves the first one running', async () => {
  const dataDir = path.join(folder.path, 'twice');
  const first = start(dataDir);
  const info = await ready(first, first.file);
  const second = await start(dataDir).ended;
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toContain(
    `Another \`planledger start\` is using ${dataDir} (pid ${first.child.pid}, ${info.url})`,
  );
  expect(second.stderr).toContain('another --data-dir and --port 0');
  expect(second.stderr).not.toMatch(/^\s+at /m);
  expect(JSON.parse(await readFile(first.file, 'utf8'))).toEqual(info);
  expect((await fetch(`${info.url}/readyz`)).status).toBe(200);
  expect(await cli(['plan', 'append', 'sample-task', 'still here', '--data-dir', dataDir])).toMatchObject({ code: 0 });
  expect(await stop(first)).toBe(0);
});

test('a second start is refused too where DATABASE_URL names the database of the first', async () => {
  const dataDir = path.join(folder.path, 'twice by url');
  const first = start(dataDir);
  const info = await ready(first, first.file);
  const args = ['start', '--port', '0', '--data-dir', dataDir];
  const second = await cli(args, { env: { DATABASE_URL: String(info.database_url) } });
  expect(second).toMatchObject({ code: 1, stdout: '' });
  expect(second.stderr).toContain(
    `Another \`planledger start\` is using ${dataDir} (pid ${first.child.pid}, ${info.url})`,
  );
  expect(await cli(['plan', 'append', 'sample-task', 'still here', '--data-dir', dataDir])).toMatchObject({ code: 0 });
  expect(await stop(first)).toBe(0);
});

test('a damaged running.json is replaced by a start, and taken for none while one runs', async () => {
  const dataDir = path.join(folder.path, 'twice');
  const described = path.join(dataDir, 'running.json');
  await writeFile(described, '{"url": "http://127.');
  const first = start(dataDir);
  await ready(first, first.file);
  expect(await cli(['plan', 'show', 'sample-task', '--data-dir', dataDir])).toMatchObject({ code: 0 });
  await writeFile(described, '{}');
  expect(await start(dataDir).ended).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`Another \`planledger start\` is using ${dataDir}; it keeps running`),
  });
  expect(await stop(first)).toBe(0);
});

test('a start whose lock went with its connection takes it again, so that a second one is still refused', async () => {
  const dataDir = path.join(folder.path, 'regain');
  const first = start(dataDir);
  const info = await ready(first, first.file);
  const sql = postgres(String(info.database_url), { max: 1 });
  const holders = async () =>
    (await sql`select pid from pg_stat_activity where application_name = 'planledger start'`).map(({ pid }) => pid);
  const before = await holders();
  expect(before).toHaveLength(1);
  await sql`select pg_terminate_backend(${before[0]})`;
  await vi.waitFor(async () => expect((await holders()).filter((pid) => pid !== before[0])).toHaveLength(1));
  await sql.end();
  expect(await start(dataDir).ended).toMatchObject({ code: 1, stderr: expect.stringContaining('Another') });
  expect((await fetch(`${info.url}/readyz`)).status).toBe(200);
  expect(await stop(first)).toBe(0);
});

test('a start that lost its lock to another process ends and says so, and does not stop PostgreSQL under that one', async () => {
  const dataDir = path.join(folder.path, 'taken-over');
  const first = start(dataDir);
  const info = await ready(first, first.file);
  const other = postgres(String(info.database_url).replace(/planledger$/, 'postgres'), { max: 1 });
  const [lock] = await other`
    select l.pid, (l.classid::bigint << 32 | l.objid::bigint)::text as key
    from pg_locks l join pg_stat_activity a using (pid)
    where l.locktype = 'advisory' and a.application_name = 'planledger start'`;
  const taken = other`select pg_advisory_lock(${lock?.key})`.execute();
  const admin = postgres(String(info.database_url), { max: 1 });
  await vi.waitFor(async () => expect(await admin`select from pg_locks where not granted`).toHaveLength(1));
  await admin`select pg_terminate_backend(${lock?.pid})`;
  await taken;
  const ended = await first.ended;
  expect(ended.code).toBe(1);
  expect(ended.stderr).toContain(`another \`planledger start\` has taken over ${dataDir}`);
  expect(await other`select 1 as alive`).toMatchObject([{ alive: 1 }]);
  await Promise.all([other.end(), admin.end()]);

  const second = start(dataDir);
  expect(await ready(second, second.file)).toMatchObject({ token: info.token });
  expect(await stop(second)).toBe(0);
  expect(await processesIn(dataDir)).toEqual([]);
});

test('two starts that race for a new data folder: one serves, the other is refused', async () => {
  const dataDir = path.join(folder.path, 'race');
  const starts = [start(dataDir), start(dataDir)];
  const loser = await Promise.race(starts.map(async (running) => ({ running, result: await running.ended })));
  expect(loser.result.code).toBe(1);
  expect(loser.result.stderr).toContain('Another `planledger start` is using');
  const winner = starts.find(({ child }) => child !== loser.running.child);
  if (winner === undefined) throw new Error('both ended');
  const info = await ready(winner, winner.file);
  expect(info.pid).toBe(winner.child.pid);
  expect((await fetch(`${info.url}/readyz`)).status).toBe(200);
  expect(await stop(winner)).toBe(0);
  expect(await processesIn(dataDir)).toEqual([]);
});

test('a taken port is said, with what to do, and PostgreSQL does not stay behind', async () => {
  const dataDir = path.join(folder.path, 'port');
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
  const address = holder.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  try {
    const result = await startCli(['start', '--port', String(port), '--data-dir', dataDir]).ended;
    expect(result).toMatchObject({ code: 1, stdout: '' });
    expect(result.stderr).toContain(`Port ${port} on 127.0.0.1 is taken`);
    expect(result.stderr).toContain('--port 0');
    expect(await processesIn(dataDir)).toEqual([]);
  } finally {
    await new Promise((resolve) => holder.close(resolve));
  }
});

test('Ctrl-C while PostgreSQL is still starting stops it cleanly too; the folder is as good as new', async () => {
  const dataDir = path.join(folder.path, 'early');
  const first = start(dataDir);
  while (!first.output.stderr.includes('initialising')) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await stop(first)).toBe(0);
  expect(first.output.stdout).toBe('');
  expect(await processesIn(dataDir)).toEqual([]);
  const second = start(dataDir);
  expect(await ready(second, second.file)).toMatchObject({ task_id: 'sample-task' });
  expect(await stop(second)).toBe(0);
});

test('a ready file that holds something of somebody is refused and kept', async () => {
  const file = path.join(folder.path, 'notes.md');
  await writeFile(file, 'notes');
  const dataDir = path.join(folder.path, 'kept');
  const refused = await cli(['start', '--port', '0', '--data-dir', dataDir, '--ready-file', file]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('it holds something else') });
  expect(await readFile(file, 'utf8')).toBe('notes');
});

test('a start whose output nobody reads any more stops cleanly', async () => {
  const dataDir = path.join(folder.path, 'unread');
  const running = start(dataDir);
  while (!running.output.stderr.includes('initialising')) await new Promise((resolve) => setTimeout(resolve, 10));
  running.child.stdout?.destroy();
  running.child.stderr?.destroy();
  await new Promise((resolve) => running.child.once('exit', resolve));
  expect(running.child.exitCode).toBe(0);
  expect(await processesIn(dataDir)).toEqual([]);
});

test('a data folder without a name, or where none can be made, is refused at once', async () => {
  const cwd = folder.path;
  const before = await readdir(cwd);
  const unnamed = await cli(['start', '--port', '0', '--data-dir', ''], { cwd });
  expect(unnamed).toMatchObject({ code: 2, stderr: expect.stringContaining('Correct --data-dir.') });
  expect(await readdir(cwd)).toEqual(before);
  for (const dataDir of ['/proc/none', '/dev/null/none']) {
    const refused = await cli(['start', '--port', '0', '--data-dir', dataDir], { cwd });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`Cannot use ${dataDir} as data folder`) });
  }
});

test('secrets in the data folder are for their owner only', async () => {
  const dataDir = path.join(folder.path, 'again');
  const running = start(dataDir);
  await ready(running, running.file);
  for (const file of [path.join(dataDir, 'token'), path.join(dataDir, 'running.json'), running.file]) {
    expect((await stat(file)).mode & 0o777, file).toBe(0o600);
  }
  expect(await readFile(path.join(dataDir, '.gitignore'), 'utf8')).toBe('*\n');
  expect(await stop(running)).toBe(0);
});
