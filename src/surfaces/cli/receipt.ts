import type { Command } from 'commander';
import { PlanledgerError } from '../../ledger/errors.ts';
import type { Ledger, Receipt } from '../../ledger/generated.ts';
import { asCaller, type CallerOptions, callerOptions, type On } from './caller.ts';
import { note, printJson, printLine, printTable, short, when } from './output.ts';
import { linesOf } from './transcript.ts';

interface ListOptions extends CallerOptions {
  session?: string;
  state?: string;
}

/** `planledger receipt …`: how far the accepted prompts of a task have come. */
export function addReceiptCommands(program: Command): void {
  const receipt = program.command('receipt').description('how far accepted prompts have come');

  const list = receipt
    .command('list')
    .description('list the receipts of a task, newest first')
    .argument('<task>', 'task id')
    .option('--session <id>', 'only those of one session')
    .option('--state <state>', 'only those in one state')
    .option('--json', 'print the list as JSON');
  callerOptions(list).action((task: string, options: ListOptions) =>
    asCaller(options, async (ledger, principal) => {
      const { session: session_id, state } = options;
      const rows = await allReceipts(ledger, { principal, task_id: task, session_id, state });
      if (options.json) return printJson(rows);
      if (rows.length === 0) return printLine('no receipts');
      printTable(
        ['RECEIPT', 'SESSION', 'STATE', 'ATTEMPTS', 'ACCEPTED (UTC)', 'FAILURE'],
        rows.map((row) => [
          row.id,
          row.session_id,
          row.dismissed_at === null ? row.state : `${row.state}, dismissed`,
          String(row.attempts),
          when(row.created_at),
          short(row.failure ?? '-'),
        ]),
      );
    }),
  );

  const show = receipt
    .command('show')
    .description('print a receipt, and the text of its prompt')
    .argument('<task>', 'task id')
    .argument('<receipt>', 'its id')
    .option('--json', 'print both as JSON');
  callerOptions(show).action((task: string, id: string, options: CallerOptions) =>
    asCaller(options, async (ledger, principal) => {
      const on = { principal, task_id: task };
      const found = await findReceipt(ledger, on, id);
      const delivery = await ledger.deliveryGet({ ...on, client_id: found.client_id });
      if (options.json) return printJson({ ...found, content: delivery?.content ?? null });
      for (const [name, value] of Object.entries(found)) printLine(`${name}: ${shown(value)}`);
      printLine('');
      for (const line of linesOf(delivery?.content ?? '')) printLine(line);
    }),
  );

  const retry = receipt
    .command('retry-failed')
    .description('have prompts that failed before they went out be tried again')
    .argument('<task>', 'task id')
    .argument('[receipt]', 'only this one')
    .option('--json', 'print the receipts that are tried again as JSON');
  callerOptions(retry).action((task: string, id: string | undefined, options: CallerOptions) =>
    asCaller(options, async (ledger, principal) => {
      const on = { principal, task_id: task };
      const retried = id === undefined ? await retryAll(ledger, on) : [await retryOne(ledger, on, id)];
      if (options.json) return printJson(retried);
      note(`${retried.length} ${retried.length === 1 ? 'is' : 'are'} tried again`);
      for (const row of retried) printLine(row.id);
    }),
  );

  const dismiss = receipt
    .command('dismiss')
    .description('say that nothing more is to be done about a prompt that failed or was cleared')
    .argument('<task>', 'task id')
    .argument('<receipt>', 'its id')
    .option('--json', 'print the receipt as JSON');
  callerOptions(dismiss).action((task: string, id: string, options: CallerOptions) =>
    asCaller(options, async (ledger, principal) => {
      const on = { principal, task_id: task };
      const { session_id } = await findReceipt(ledger, on, id);
      const dismissed = await ledger.receiptDismiss({ ...on, session_id, receipt_id: id });
      if (options.json) printJson(dismissed);
      else note('dismissed');
    }),
  );
}

async function retryOne(ledger: Ledger, on: On, id: string): Promise<Receipt> {
  const { session_id, id: receipt_id } = await findReceipt(ledger, on, id);
  return await ledger.receiptRetry({ ...on, session_id, receipt_id });
}

/** Oldest first, as they were accepted. One whose queue is full stays failed, and keeps nothing else up. */
async function retryAll(ledger: Ledger, on: On): Promise<Receipt[]> {
  const failed = await allReceipts(ledger, { ...on, state: 'failed' });
  const retried: Receipt[] = [];
  for (const { id: receipt_id, session_id } of failed.filter((row) => row.retryable).reverse()) {
    try {
      retried.push(await ledger.receiptRetry({ ...on, session_id, receipt_id }));
    } catch (error) {
      if (!(error instanceof PlanledgerError) || error.code !== 'queue_full') throw error;
      note(`${receipt_id} stays failed: ${error.message}`);
      process.exitCode = 1;
    }
  }
  return retried;
}

async function findReceipt(ledger: Ledger, on: On, receipt_id: string): Promise<Receipt> {
  const found = await ledger.receiptGet({ ...on, receipt_id });
  if (found !== null) return found;
  throw new PlanledgerError(
    'validation_error',
    `Task ${on.task_id} has no receipt ${receipt_id} any more, or never had.`,
    {
      operation: 'get_receipt',
      taskId: on.task_id,
      nextAction: `\`planledger receipt list ${on.task_id}\` lists those it has.`,
    },
  );
}

type Which = Parameters<Ledger['receiptList']>[0];

async function allReceipts(ledger: Ledger, which: Which): Promise<Receipt[]> {
  const rows: Receipt[] = [];
  for (;;) {
    const page = await ledger.receiptList({ ...which, before_receipt_id: rows.at(-1)?.id });
    if (page.length === 0) return rows;
    rows.push(...page);
  }
}

function shown(value: string | number | boolean | Date | null): string {
  return value === null || value instanceof Date ? when(value) : String(value);
}
