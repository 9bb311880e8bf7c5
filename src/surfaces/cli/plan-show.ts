import type { Command } from 'commander';
import { PlanledgerError } from '../../ledger/errors.ts';
import type { Ledger, RevisionListRow } from '../../ledger/generated.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { UsageError } from './failure.ts';
import { note, printJson, when } from './output.ts';

interface ShowOptions extends CallerOptions {
  revision?: number;
}

/** `planledger plan show`: the text alone goes to stdout, so that it can be redirected; what it is goes to stderr. */
export function addPlanShowCommand(plan: Command): void {
  const command = plan
    .command('show')
    .description('print the plan of a task, or one revision of it')
    .argument('<task>', 'task id')
    .option('--revision <number>', 'a revision of its history', revisionNumber)
    .option('--json', 'print title, text, version and the rest as JSON');
  callerOptions(command).action(async (task: string, options: ShowOptions) => {
    await asCaller(options, async (ledger, principal) => {
      if (options.revision === undefined) await showPlan(ledger, principal, task, options);
      else await showRevision(ledger, principal, task, options.revision, options);
    });
  });
}

async function showPlan(ledger: Ledger, principal: string, task: string, options: ShowOptions): Promise<void> {
  const plan = await ledger.planGet({ principal, task_id: task });
  if (plan === null) {
    throw new PlanledgerError('plan_not_found', `Task ${task} has no plan.`, {
      operation: 'get',
      taskId: task,
      nextAction: `\`planledger plan history ${task}\` shows whether it had one; \`plan create\` writes the first.`,
    });
  }
  if (options.json) return printJson(plan);
  printText(plan.content);
  note(
    `-- ${plan.title}: revision ${plan.revision_number}, ${plan.content_bytes} bytes, ${when(plan.updated_at)}, version ${plan.version}`,
  );
}

async function showRevision(
  ledger: Ledger,
  principal: string,
  task: string,
  number: number,
  options: ShowOptions,
): Promise<void> {
  const { id } = await findRevision(ledger, principal, task, number);
  const revision = await ledger.revisionGet({ principal, task_id: task, revision_id: id });
  if (options.json) return printJson(revision);
  printText(revision.content);
  note(
    `-- ${revision.title}: revision ${number} by ${revision.author_name}, ${revision.content_bytes} bytes, ${when(revision.updated_at)}`,
  );
}

/** The revision with a number, which is how people name it; functions take its id. */
export async function findRevision(
  ledger: Ledger,
  principal: string,
  task: string,
  number: number,
): Promise<RevisionListRow> {
  const list = await ledger.revisionList({ principal, task_id: task, before_revision_number: number + 1, limit: 1 });
  if (list[0]?.revision_number === number) return list[0];
  throw new PlanledgerError('revision_not_found', `Task ${task} has no revision ${number}.`, {
    operation: 'get_revision',
    taskId: task,
    nextAction: `\`planledger plan history ${task}\` lists the revisions.`,
  });
}

/** A revision number of the command line. */
export function revisionNumber(text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number < 2 ** 31 - 1) return number;
  throw new UsageError(`${text} is not a revision number.`, '`planledger plan history` lists the revisions.');
}

/** Byte for byte. Where both streams are shown together, what follows on stderr begins a line of its own. */
function printText(content: string): void {
  process.stdout.write(content);
  if (content !== '' && !content.endsWith('\n')) process.stderr.write('\n');
}
