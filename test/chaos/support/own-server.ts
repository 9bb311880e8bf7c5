import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { vi } from 'vitest';
import { clusterPaths } from '../../../src/postgres/cluster.ts';
import { startEmbedded } from '../../../src/postgres/embedded.ts';
import { findPostmaster } from '../../../src/postgres/postmaster.ts';

/** An embedded PostgreSQL of the test file's own, which it may break. */
export interface OwnServer {
  url: string;
  /** Path of the server's log. */
  log: string;
  /** Ends the postmaster by a signal, and answers when it is gone. */
  crash(signal: 'SIGQUIT' | 'SIGKILL'): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

export async function startOwnServer(): Promise<OwnServer> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'planledger-chaos-')));
  // The system user postgres has to pass through it when the tests run as root.
  await chmod(folder, 0o711);
  const dataDir = path.join(folder, 'data');
  let server = await startEmbedded({ dataDir });
  const { url } = server;
  const { cluster, log } = clusterPaths(dataDir);
  return {
    url,
    log,
    async crash(signal) {
      const postmaster = await findPostmaster(cluster);
      if (postmaster === undefined) throw new Error('the server is not running');
      process.kill(postmaster.pid, signal);
      await vi.waitFor(
        async () => {
          if ((await findPostmaster(cluster)) !== undefined) throw new Error('the server is still there');
        },
        { timeout: 10_000 },
      );
    },
    async restart() {
      server = await startEmbedded({ dataDir, port: Number(new URL(url).port) });
      if (server.url !== url) throw new Error('the server came back elsewhere');
    },
    async remove() {
      await server.stop();
      await rm(folder, { recursive: true });
    },
  };
}
