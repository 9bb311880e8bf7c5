import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, connect as openSocket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { vi } from 'vitest';

/** The installed program; undefined where PgBouncer is not installed. */
export const pgbouncerProgram = [...(process.env.PATH ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin']
  .map((folder) => path.join(folder, 'pgbouncer'))
  .find((file) => existsSync(file));

/** A PgBouncer in transaction mode, in its default configuration otherwise. */
export interface PgBouncer {
  /** Connection string for one of its databases. */
  url(database: string): string;
  /** All it logged. */
  log(): string;
  stop(): Promise<void>;
}

interface PgBouncerOptions {
  login: string;
  password: string;
  /** Connection strings of the databases it offers, by name. */
  databases: Record<string, string>;
  /** Server connections for each database. */
  poolSize: number;
}

export async function startPgBouncer({ login, password, databases, poolSize }: PgBouncerOptions): Promise<PgBouncer> {
  if (pgbouncerProgram === undefined) throw new Error('pgbouncer is not installed');
  const folder = await mkdtemp(path.join(tmpdir(), 'planledger-pgbouncer-'));
  const port = await freePort();
  const entries = Object.entries(databases).map(([name, target]) => {
    const { hostname, port: targetPort, pathname } = new URL(target);
    return `${name} = host=${hostname} port=${targetPort || 5432} dbname=${pathname.slice(1)}`;
  });
  const users = path.join(folder, 'users.txt');
  await writeFile(users, `"${login}" "${password}"\n`);
  await writeFile(
    path.join(folder, 'pgbouncer.ini'),
    `[databases]
${entries.join('\n')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${poolSize}
`,
  );
  // It refuses to run as root and reads its files as the user it becomes.
  await chmod(folder, 0o755);
  const asUser = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(pgbouncerProgram, [...asUser, path.join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let logged = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    logged += text;
  });
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true });
  };
  try {
    await vi.waitFor(() => answers(port), { timeout: 10_000, interval: 50 });
  } catch (cause) {
    await stop();
    throw new Error(`pgbouncer did not start:\n${logged}`, { cause });
  }
  return {
    url: (database) => `postgres://${login}:${password}@127.0.0.1:${port}/${database}`,
    log: () => logged,
    stop,
  };
}

async function answers(port: number): Promise<void> {
  const socket = openSocket(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
