import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Command } from 'commander';
import type { Cast } from '../../demo/cast.ts';
import { DemoError } from '../../demo/programs.ts';
import type { Ledger } from '../../ledger/generated.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { migrate } from '../../postgres/migrate.ts';
import { asAdministrator } from './caller.ts';
import { ObstacleError } from './failure.ts';
import { startHttpService } from './http-service.ts';
import { type Lifetime, runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';
import { note, printLine, printTable, when } from './output.ts';
import { baseUrl, surfaceUrls } from './start-banner.ts';
import { useEmbedded } from './start-database.ts';
import { linesOf, showTranscript } from './transcript.ts';

/** `planledger demo`. */
export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .description('show in seconds what Planledger does, on a PostgreSQL of its own that goes when it ends')
    .action(runDemo);
}

async function runDemo(): Promise<void> {
  process.exitCode = 130; // where it is interrupted
  await runUntilStopped(async (life) => {
    try {
      await demo(life);
    } catch (error) {
      life.signal.throwIfAborted(); // what ends with it may fail
      if (!(error instanceof DemoError)) throw error;
      throw new ObstacleError('demo_failed', error.message, 'This is a fault of Planledger: please report it.');
    }
    process.exitCode = 0;
    life.end();
  });
}

async function demo(life: Lifetime): Promise<void> {
  const began = performance.now();
  const step = (text: string) => {
    life.signal.throwIfAborted();
    printLine(`${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${text}`);
  };
  const folder = await ownFolder(life);
  printLine(`Everything is in ${folder}, and goes when this ends.`);
  step('PostgreSQL starts.');
  const databaseUrl = await useEmbedded(life, folder);
  life.signal.throwIfAborted();
  await migrate(databaseUrl, note);
  life.signal.throwIfAborted();

  const { makeCast, sectionsOf } = await import('../../demo/cast.ts');
  const { appendTogether } = await import('../../demo/appends.ts');
  const delivery = await import('../../demo/delivery.ts');
  const { check } = await import('../../demo/checks.ts');
  const { startWorker } = await import('../../worker/worker.ts');

  const logger = openLog('warn');
  const host = '127.0.0.1';
  const { address, sql } = await startHttpService(life, { databaseUrl, host, port: 0, logger });
  const ledger = createLedger(sql);
  const cast = await asAdministrator(databaseUrl, makeCast);
  step('Dana has written a plan for the task sign-in.');

  const [ada, bo] = ['Ada', 'Bo'].map(sectionsOf) as [string[], string[]];
  step('The agents Ada and Bo, each a process of its own, append five sections each over MCP, all at the same time.');
  const appenders = [
    { name: 'Ada', token: cast.tokens[0], sections: ada },
    { name: 'Bo', token: cast.tokens[1], sections: bo },
  ];
  await appendTogether(surfaceUrls(baseUrl(host, address.port)).mcp_url, appenders, life.signal);

  step('Dana comments on a line of the plan.');
  await delivery.comment(ledger, cast, 'In which browsers?', 'Measure how long it takes');
  const { comments } = await ledger.commentList({ principal: cast.person, task_id: cast.taskId });

  step('A worker starts the agent Cleo, a process that speaks the Agent Client Protocol.');
  const record = path.join(folder, 'prompts.jsonl');
  const agents = new Map([[delivery.agentName, delivery.agentEntry(record, folder)]]);
  const worker = startWorker({ databaseUrl, logger, agents });
  life.defer(() => worker.close());
  await delivery.openSession(ledger, cast, life.signal);

  step('Dana sends the comment to Cleo as a prompt.');
  const versions = comments.map(({ id, version }) => ({ id, version }));
  const accepted = await delivery.sendComments(ledger, cast, versions);
  await delivery.waitForAgent(ledger, cast, life.signal);
  step('Dana sends the same request again, as after an answer that was lost.');
  const repeated = await delivery.sendComments(ledger, cast, versions);
  await delivery.waitForAgent(ledger, cast, life.signal);

  step('Everything is compared with the database.');
  const holding = await check(ledger, { cast, sections: [...ada, ...bo], accepted, repeated, record });
  await report(ledger, cast, holding);
}

/** A folder that goes at the end; PostgreSQL, another user where this is root, must be able to enter it. */
async function ownFolder(life: Lifetime): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'planledger-demo-'));
  life.defer(() => rm(folder, { recursive: true, force: true }));
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  return folder;
}

async function report(ledger: Ledger, cast: Cast, holding: string[]): Promise<void> {
  const { sessionId } = await import('../../demo/delivery.ts');
  const on = { principal: cast.person, task_id: cast.taskId };
  heading('The transcript of the session with Cleo');
  await showTranscript(ledger, { ...on, session_id: sessionId }, {});
  heading('The plan');
  for (const line of linesOf((await ledger.planGet(on))?.content ?? '')) printLine(line);
  heading('Its history: writes of one caller that follow each other join one revision');
  printTable(
    ['REVISION', 'UPDATED (UTC)', 'BYTES', 'AUTHOR'],
    (await ledger.revisionList(on)).map((row) => [
      ...[String(row.revision_number), when(row.updated_at), String(row.content_bytes)],
      `${row.author_name} (${row.author_kind})`,
    ]),
  );
  heading('Checked against the database');
  for (const claim of holding) printLine(`- ${claim}`);
  heading('What to try next');
  printLine('npx planledger start   a server that stays, with a plan to try');
  printLine('README.md              how to connect an agent of yours');
  printLine('docs/agents.md         how prompts reach it');
}

function heading(text: string): void {
  printLine('');
  printLine(text);
  printLine('');
}
