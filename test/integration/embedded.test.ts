import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFile,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type EmbeddedPostgres, EmbeddedPostgresError, startEmbedded } from '../../src/postgres/embedded.ts';

const isRoot = process.getuid?.() === 0;
let dir: string;
let dataDir: string;
let starts: Promise<EmbeddedPostgres>[] = [];
let children: ChildProcess[] = [];

beforeEach(async () => {
  dir = await realpath(await mkdtemp(path.join(os.tmpdir(), 'planledger-embedded-')));
  // The system user postgres has to pass through it when the tests run as root.
  await chmod(dir, 0o711);
  dataDir = path.join(dir, '.planledger');
});

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
  // Awaited even when a test timed out, so that no start is still under way.
  await Promise.allSettled(starts);
  starts = [];
  const left = await processesIn(dir);
  // Immediate shutdown: the postmaster takes its backends with it.
  for (const pid of left) signal(pid, 'SIGCONT');
  for (const pid of left) signal(pid, 'SIGQUIT');
  await vi.waitFor(async () => expect(await processesIn(dir)).toEqual([]), { timeout: 10_000 });
  await rm(dir, { recursive: true, force: true });
});

function start(options: { port?: number } = {}): Promise<EmbeddedPostgres> {
  const started = startEmbedded({ dataDir, ...options });
  starts.push(started);
  return started;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Every process of ours works inside the test's folder (Linux only; elsewhere it finds none). */
async function processesIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).map(Number).filter((pid) => pid > 0);
  const cwds = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, index) => cwds[index]?.startsWith(folder));
}

async function query<T>(url: string, use: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

const writeNote = (url: string) =>
  query(url, async (sql) => {
    await sql`create table note (body text)`;
    await sql`insert into note values ('kept — ✓')`;
  });

const readNotes = (url: string) =>
  query(url, async (sql) => (await sql<{ body: string }[]>`select body from note`).map((row) => row.body));

async function postmasterPid(): Promise<number> {
  return Number((await readFile(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
}

/** Another planledger process that starts the server and would keep it: to be killed. */
function startInChild(): ChildProcess {
  const module = fileURLToPath(new URL('../../src/postgres/embedded.ts', import.meta.url));
  const hooks = `import { registerHooks } from 'node:module';
    registerHooks({ resolve: (name, context, next) => {
      try { return next(name, context); } catch (error) {
        if (!name.startsWith('.')) throw error;
        return next(name.replace(/\\.js$/, '.ts'), context);
      }
    } });`;
  const body = `const { startEmbedded } = await import(${JSON.stringify(module)});
    process.send(await startEmbedded({ dataDir: ${JSON.stringify(dataDir)} }));
    setInterval(() => {}, 1000);`;
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`, '--input-type=module', '-e', body],
    { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  );
  children.push(child);
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

describe('embedded PostgreSQL', { timeout: 60_000 }, () => {
  test('a fresh start answers, in UTF8, on 127.0.0.1 only, to the password only', async () => {
    const server = await start();
    expect(server.adopted).toBe(false);
    const [row] = await query(
      server.url,
      (sql) => sql`
        select current_setting('server_encoding') as encoding, datlocprovider as provider, datlocale as locale,
          current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets,
          current_setting('data_checksums') as checksums, current_setting('server_version_num')::int / 10000 as major
        from pg_database where datname = current_database()`,
    );
    expect(row).toEqual({
      encoding: 'UTF8',
      provider: 'b',
      locale: 'C.UTF-8',
      addresses: '127.0.0.1',
      sockets: '',
      checksums: 'on',
      major: 18,
    });
    expect((await stat(path.join(dataDir, 'postgres.password'))).mode & 0o777).toBe(0o600);
    expect((await stat(path.join(dataDir, 'postgres'))).mode & 0o777).toBe(0o700);
    const wrong = server.url.replace(/:[^:@]+@/, ':wrong@');
    await expect(query(wrong, (sql) => sql`select 1`)).rejects.toMatchObject({ code: '28P01' });
  });

  test('stopping ends every process, may be repeated, and the next start has the data and the same url', async () => {
    const server = await start();
    await writeNote(server.url);
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await processesIn(dir)).toEqual([]);

    const again = await start();
    expect(again).toMatchObject({ adopted: false, url: server.url });
    expect(await readNotes(again.url)).toEqual(['kept — ✓']);
    // The first handle's server has ended; it must not stop its successor.
    await server.stop();
    expect(await readNotes(again.url)).toEqual(['kept — ✓']);
  });

  test('a server whose postmaster was killed recovers, once its last backend is gone', async () => {
    const server = await start();
    await writeNote(server.url);
    const sql = postgres(server.url, { max: 1 });
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    const backend = row?.pid ?? expect.fail('no backend');
    signal(backend, 'SIGSTOP');
    const postmaster = await postmasterPid();
    signal(postmaster, 'SIGKILL');
    // Until it has died it answers, and would be adopted.
    await vi.waitFor(async () => expect(await processesIn(dir)).not.toContain(postmaster));

    const again = start();
    const early = again.then(
      ({ adopted }) => `a server that ${adopted ? 'was there' : 'started'}`,
      (error: Error) => error.message,
    );
    expect(await Promise.race([early, delay(1_500, 'waiting')])).toBe('waiting');
    signal(backend, 'SIGKILL');
    await sql.end({ timeout: 0 });
    expect((await again).adopted).toBe(false);
    expect(await readNotes((await again).url)).toEqual(['kept — ✓']);
  });

  test('a server left running by a killed process is adopted with its data, and can be stopped', async () => {
    const child = startInChild();
    const [left] = (await once(child, 'message')) as [EmbeddedPostgres];
    await writeNote(left.url);
    const pid = await postmasterPid();
    await killed(child);

    const server = await start();
    expect(server).toMatchObject({ adopted: true, url: left.url });
    expect(await postmasterPid()).toBe(pid);
    expect(await readNotes(server.url)).toEqual(['kept — ✓']);
    await server.stop();
    expect(await processesIn(dir)).toEqual([]);
  });

  test('a process killed inside initdb leaves nothing that hinders the next start', async () => {
    const child = startInChild();
    await vi.waitFor(
      async () => {
        const staging = (await readdir(dataDir)).find((name) => name.startsWith('postgres.init-'));
        expect(await readdir(path.join(dataDir, staging ?? ''))).toContain('PG_VERSION');
      },
      { timeout: 10_000, interval: 5 },
    );
    await killed(child);
    expect(await readdir(dataDir)).not.toContain('postgres');
    const abandoned = path.join(dataDir, 'postgres.init-0123456789ab');
    await mkdir(abandoned);
    await writeFile(path.join(abandoned, 'PG_VERSION'), '18\n');
    await utimes(abandoned, new Date(0), new Date(0));

    const server = await start();
    expect(server.adopted).toBe(false);
    await writeNote(server.url);
    expect(await readNotes(server.url)).toEqual(['kept — ✓']);
    expect(await readdir(dataDir)).not.toContain('postgres.init-0123456789ab');
  });

  test('a folder that is no cluster is refused and left as it is', async () => {
    await mkdir(path.join(dataDir, 'postgres'), { recursive: true });
    await chmod(dataDir, 0o711);
    await writeFile(path.join(dataDir, 'postgres/mine.txt'), 'mine');
    await expect(start()).rejects.toThrow(/is not empty and holds no PostgreSQL cluster\. Move it away/);
    expect(await readFile(path.join(dataDir, 'postgres/mine.txt'), 'utf8')).toBe('mine');
  });

  test('a taken port: the remembered one is replaced, one asked for is an error that names it', async () => {
    const server = await start();
    await writeNote(server.url);
    await server.stop();
    const port = Number(new URL(server.url).port);
    const blocker = createServer().listen(port, '127.0.0.1');
    await once(blocker, 'listening');
    try {
      await expect(start({ port })).rejects.toThrow(`Port ${port} is taken`);
      const again = await start();
      expect(again.url).not.toBe(server.url);
      expect(await readNotes(again.url)).toEqual(['kept — ✓']);
    } finally {
      blocker.close();
    }
  });

  test('a stale pid file is no hindrance, empty or naming another living process', async () => {
    const server = await start();
    await writeNote(server.url);
    const pidFile = path.join(dataDir, 'postgres/postmaster.pid');
    const [, ...rest] = (await readFile(pidFile, 'utf8')).split('\n');
    const owner = await stat(path.join(dataDir, 'postgres'));
    await server.stop();

    // A process of the user who runs the server: PostgreSQL itself would take it for the postmaster.
    const other = spawn('sleep', ['60'], {
      cwd: '/',
      stdio: 'ignore',
      ...(isRoot && { uid: owner.uid, gid: owner.gid }),
    });
    children.push(other);
    await once(other, 'spawn');
    await writeFile(pidFile, [other.pid, ...rest].join('\n'));
    const second = await start();
    expect(second.adopted).toBe(false);
    expect(other.exitCode).toBeNull();
    await second.stop();

    await writeFile(pidFile, '');
    const third = await start();
    expect(third.adopted).toBe(false);
    expect(await readNotes(third.url)).toEqual(['kept — ✓']);
  });

  test('two first starts at once share one server', async () => {
    const both = await Promise.all([start(), start()]);
    expect(both[0].url).toBe(both[1].url);
    expect(both.map((server) => server.adopted).sort()).toEqual([false, true]);
    await writeNote(both[0].url);
    expect((await readdir(dataDir)).filter((name) => name.includes('.init-'))).toEqual([]);
  });

  test('a server that does not start says why, where its log is and what to do', async () => {
    await (await start()).stop();
    await appendFile(path.join(dataDir, 'postgres/postgresql.conf'), "\nshared_buffers = 'much'\n");
    const failure = await start().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(EmbeddedPostgresError);
    expect(String(failure)).toContain('invalid value for parameter "shared_buffers": "much"');
    expect(String(failure)).toContain(`The whole log is ${path.join(dataDir, 'postgres.log')}`);
    expect(String(failure)).toContain('DATABASE_URL');
  });

  test.runIf(isRoot)('as root, a folder the server cannot enter is named', async () => {
    const closed = path.join(dir, 'closed');
    await mkdir(closed, { mode: 0o700 });
    dataDir = path.join(closed, 'deeper/.planledger');
    await expect(start()).rejects.toThrow(new RegExp(`cannot enter ${closed}\\. Run chmod o\\+x on that folder`));
    expect(await readdir(dataDir)).toEqual([]);
  });
});
