import type { Command } from 'commander';
import { printAcknowledgement } from './acknowledgement.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { UsageError } from './failure.ts';
import { note, printJson, printLine, printTable, when } from './output.ts';
import { findRevision, revisionNumber } from './plan-show.ts';

interface HistoryOptions extends CallerOptions {
  before?: number;
  limit?: number;
}

/** `planledger plan history` and `planledger plan restore`. */
export function addPlanHistoryCommands(plan: Command): void {
  const history = plan
    .command('history')
    .description('list the revisions of a plan, newest first')
    .argument('<task>', 'task id')
    .option('--before <number>', 'only revisions older than this one', revisionNumber)
    .option('--limit <count>', 'how many at most', count)
    .option('--json', 'print the list as JSON');
  callerOptions(history).action(showHistory);

  const restore = plan
    .command('restore')
    .description('make an earlier revision the current plan, as a new revision')
    .argument('<task>', 'task id')
    .argument('<revision>', 'number of the revision', revisionNumber)
    .option('--request-id <id>', 'an id of yours that makes repeating the same call harmless')
    .option('--json', 'print the acknowledgement as JSON');
  callerOptions(restore).action(restoreRevision);
}

async function showHistory(task: string, options: HistoryOptions): Promise<void> {
  await asCaller(options, async (ledger, principal) => {
    const rows = await ledger.revisionList({
      principal,
      task_id: task,
      before_revision_number: options.before,
      limit: options.limit,
    });
    const next = rows[0]?.next_before_revision_number ?? null;
    if (options.json) {
      const revisions = rows.map(({ next_before_revision_number, ...revision }) => revision);
      return printJson({ revisions, next_before_revision_number: next });
    }
    if (rows.length === 0) return printLine('no revisions');
    const sources = new Map(rows.map((row) => [row.id, String(row.revision_number)]));
    printTable(
      ['REVISION', 'UPDATED (UTC)', 'BYTES', 'AUTHOR', 'RESTORED FROM', 'TITLE'],
      rows.map((row) => [
        String(row.revision_number),
        when(row.updated_at),
        String(row.content_bytes),
        `${row.author_name} (${row.author_kind})`,
        row.restored_from === null ? '-' : (sources.get(row.restored_from) ?? row.restored_from),
        row.title,
      ]),
    );
    if (next !== null) note(`older ones: --before ${next}`);
  });
}

async function restoreRevision(
  task: string,
  number: number,
  options: CallerOptions & { requestId?: string },
): Promise<void> {
  await asCaller(options, async (ledger, principal) => {
    const { id } = await findRevision(ledger, principal, task, number);
    const revision = await ledger.revisionGet({ principal, task_id: task, revision_id: id });
    const plan = await ledger.planGet({ principal, task_id: task });
    const present = plan === null ? 'no plan' : `revision ${plan.revision_number} (${plan.content_bytes} bytes)`;
    note(
      `Restoring revision ${number}, "${revision.title}", ${revision.content_bytes} bytes, by ${revision.author_name}, ${when(revision.updated_at)}, over ${present}.`,
    );
    const ack = await ledger.planRestore({
      principal,
      task_id: task,
      revision_id: id,
      expected_version: plan?.version ?? null,
      expected_revision_version: revision.revision_version,
      request_id: options.requestId,
    });
    printAcknowledgement(ack, options);
  });
}

function count(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${text} is not a number of revisions.`, 'Give --limit a whole number.');
}
