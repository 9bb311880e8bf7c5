import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { createLedger } from '../../ledger/ledger.ts';
import { checkDatabaseUrl } from '../../postgres/connect.ts';
import { migrate } from '../../postgres/migrate.ts';
import { ensureDataDir } from '../../postgres/programs.ts';
import { agentsOption, findAgents } from './agents.ts';
import { UsageError } from './failure.ts';
import { findHooks, hooksOption } from './hooks.ts';
import { portNumber, startHttpService } from './http-service.ts';
import { type Lifetime, runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';
import { note, printLine } from './output.ts';
import { defaultDataDir, type RunningInfo, runningFile, writePrivate } from './running.ts';
import { banner, baseUrl, defaultPort, surfaceUrls } from './start-banner.ts';
import { useEmbedded, useExternal } from './start-database.ts';
import { prepareReadyFile } from './start-ready-file.ts';
import { ensureSample, tokenFile } from './start-sample.ts';

interface StartOptions {
  port: number;
  dataDir: string;
  readyFile?: string;
  agents?: string;
  hooks?: string;
}

/** `planledger start`. */
export function addStartCommand(program: Command): void {
  program
    .command('start')
    .description(
      'everything in one: a PostgreSQL of its own (or that of DATABASE_URL), a sample plan, MCP over HTTP, WebSocket',
    )
    .option('--port <number>', 'port of the HTTP server; 0 for any free one', portNumber, defaultPort)
    .option('--data-dir <dir>', 'folder for the data', defaultDataDir)
    .option('--ready-file <file>', 'write URLs, token and pid there as JSON once everything is ready')
    .option('--agents <file>', agentsOption)
    .option('--hooks <file>', hooksOption)
    .action((options: StartOptions) => runUntilStopped((life) => start(life, options)));
}

async function start(life: Lifetime, options: StartOptions): Promise<void> {
  const host = '127.0.0.1';
  const named = process.env.DATABASE_URL ?? '';
  const externalUrl = named === '' ? undefined : named;
  if (externalUrl !== undefined) checkDatabaseUrl(externalUrl);
  const agents = await findAgents(options.agents);
  const hooks = await findHooks(options.hooks);
  const logger = openLog('warn');
  const dataDir = await openDataDir(options.dataDir);
  const readyFile = options.readyFile === undefined ? undefined : await prepareReadyFile(options.readyFile);
  const databaseUrl =
    externalUrl === undefined ? await useEmbedded(life, dataDir) : await useExternal(life, externalUrl, dataDir);
  // Only now, with the folder taken: these files may be those of a start that runs.
  const announcements = [runningFile(dataDir), ...(readyFile === undefined ? [] : [readyFile])];
  for (const file of announcements) await rm(file, { force: true });
  life.signal.throwIfAborted();
  await migrate(databaseUrl, note);
  life.signal.throwIfAborted();
  const { address, sql } = await startHttpService(life, { databaseUrl, host, port: options.port, logger, hooks });
  const { startWorker } = await import('../../worker/worker.ts');
  const worker = startWorker({ databaseUrl, logger, agents });
  life.defer(() => worker.close());
  const sample = await ensureSample(databaseUrl, createLedger(sql), tokenFile(dataDir, externalUrl));
  life.signal.throwIfAborted();
  const url = baseUrl(host, address.port);
  const running: RunningInfo = {
    url,
    ...surfaceUrls(url),
    database_url: databaseUrl,
    token: sample.token,
    task_id: sample.taskId,
    pid: process.pid,
  };
  for (const file of announcements) {
    life.defer(() => rm(file, { force: true }));
    await writePrivate(file, `${JSON.stringify(running, null, 2)}\n`);
  }
  for (const line of banner(running, dataDir)) printLine(line);
}

async function openDataDir(named: string): Promise<string> {
  if (named === '') throw new UsageError('The data folder has no name.', 'Correct --data-dir.');
  try {
    const dataDir = await ensureDataDir(path.resolve(named));
    // It holds passwords and lies in people's projects.
    const ignore = path.join(dataDir, '.gitignore');
    if ((await readFile(ignore, 'utf8').catch(() => '')) === '') await writeFile(ignore, '*\n');
    return dataDir;
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new UsageError(`Cannot use ${named} as data folder: ${why}.`, 'Correct --data-dir.');
  }
}
