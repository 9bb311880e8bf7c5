import type { TestProject } from 'vitest/node';
import { freshDatabase } from './database.ts';
import { startTestServer } from './server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    serverUrl: string;
    templateUrl: string;
  }
}

/** One server for the whole suite, with one migrated database that test files clone. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startTestServer();
  console.info(`tests run on ${server.kind}`);
  try {
    project.provide('serverUrl', server.url);
    project.provide('templateUrl', await freshDatabase(server.url));
  } catch (error) {
    await server.stop();
    throw error;
  }
  return () => server.stop();
}
