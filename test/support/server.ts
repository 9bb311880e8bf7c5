import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PostgreSqlContainer } from '@testcontainers/postgresql';
import { getContainerRuntimeClient } from 'testcontainers';
import { startEmbedded } from '../../src/postgres/embedded.ts';

/** A PostgreSQL server for the suite. */
export interface TestServer {
  /** Superuser connection string. */
  url: string;
  /** Which kind it is, for people. */
  kind: string;
  stop(): Promise<void>;
}

/** `TEST_DATABASE_URL`, else a container where a Docker engine answers, else embedded PostgreSQL. */
export async function startTestServer(): Promise<TestServer> {
  const given = process.env.TEST_DATABASE_URL;
  if (given !== undefined) return { url: given, kind: 'TEST_DATABASE_URL', stop: async () => {} };
  if (process.env.PLANLEDGER_TEST_SERVER === 'embedded' || !(await dockerAnswers())) return startOwn();
  const image = process.env.PLANLEDGER_TEST_IMAGE;
  if (image !== undefined) return startContainer(image);
  return startContainer(officialImage).catch((error: Error) => {
    // An engine that cannot pull is as good as none; an image that was asked for is another matter.
    console.info(`${officialImage} cannot be had (${error.message}); using embedded PostgreSQL`);
    return startOwn();
  });
}

const officialImage = 'postgres:18';

async function startOwn(): Promise<TestServer> {
  const dataDir = path.join(tmpdir(), `planledger-test-${randomBytes(6).toString('hex')}`);
  const embedded = await startEmbedded({ dataDir });
  return {
    url: embedded.url,
    kind: 'embedded PostgreSQL',
    async stop() {
      await embedded.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}

async function dockerAnswers(): Promise<boolean> {
  try {
    await getContainerRuntimeClient();
    return true;
  } catch {
    return false; // no engine on this machine, which is one of the supported cases
  }
}

async function startContainer(image: string): Promise<TestServer> {
  const container = await new PostgreSqlContainer(image).withCommand(['postgres', '-c', 'max_connections=300']).start();
  return {
    url: container.getConnectionUri(),
    kind: `container ${image}`,
    stop: async () => void (await container.stop()),
  };
}
