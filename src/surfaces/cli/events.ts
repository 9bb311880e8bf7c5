import type { Command } from 'commander';
import { type LedgerEvent, openFeed } from '../../events/feed.ts';
import { connect } from '../../postgres/connect.ts';
import { databaseOptions, findTarget } from './caller.ts';
import { runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';
import { note, printLine } from './output.ts';

interface TailOptions {
  databaseUrl?: string;
  dataDir?: string;
  task?: string;
  json?: boolean;
}

/** `planledger events tail`: what is committed, by whomever, as it is committed. */
export function addEventCommands(program: Command): void {
  const events = program.command('events').description('what is committed, by whomever (for administrators)');
  const tail = events
    .command('tail')
    .description('print a line for each change as it is committed, until Ctrl-C')
    .option('--task <id>', 'only those of one task')
    .option('--json', 'print each as a line of JSON');
  databaseOptions(tail).action(async (options: TailOptions) => {
    const { databaseUrl } = await findTarget(options);
    await runUntilStopped(async (life) => {
      const sql = await connect(databaseUrl, { max: 1, applicationName: 'planledger events' });
      life.defer(() => sql.end({ timeout: 1 }));
      const feed = openFeed({
        sql,
        logger: openLog('warn'),
        onEvents: async (rows) => {
          for (const row of rows) if (options.task === undefined || row.task_id === options.task) print(row, options);
        },
        onReset: async () => note('Listening. What was committed before is not shown.'),
      });
      life.defer(() => feed.close());
      await feed.ready;
    });
  });
}

function print(row: LedgerEvent, { json }: TailOptions): void {
  const { cursor, reset, server_started_at, ...event } = row;
  if (json) {
    process.stdout.write(`${JSON.stringify(event)}\n`);
    return;
  }
  const revision = row.revision_number === null ? '' : ` revision ${row.revision_number}`;
  printLine(`${row.task_id} ${row.kind}${revision}${row.coalesced === true ? ' (joined)' : ''}`);
}
