import type { Command } from 'commander';
import type { CommentReference, Delivery, Ledger } from '../../ledger/generated.ts';
import { takesFiles } from './attach.ts';
import { type CallerOptions, callerOptions, type On } from './caller.ts';
import { note, printJson, printLine } from './output.ts';
import { pendingComment } from './pending-comment.ts';
import { readText, type TextOptions, takesText } from './text-input.ts';

/** What every command that sends a prompt takes. */
export interface PromptOptions extends CallerOptions, TextOptions {
  comment?: string[];
  planMode?: boolean;
  attach?: string[];
  id?: string;
}

/** Has a command take a prompt: a text, comments to put before it, or both. */
export function promptCommand(command: Command): Command {
  const list = (value: string, before: string[] | undefined) => [...(before ?? []), value];
  takesText(command)
    .option(
      '--comment <uuid>',
      'a pending comment to put before the text, which may then be left out (may be repeated)',
      list,
    )
    .option('--plan-mode', 'ask the agent for a plan, not for changes');
  return acceptedCommand(command);
}

/** Has a command answer with what was accepted. */
export function acceptedCommand(command: Command): Command {
  takesFiles(command)
    .option('--id <id>', 'an id of yours, which makes a repeat harmless (default: a generated one)')
    .option('--json', 'print the delivery as JSON');
  return callerOptions(command);
}

/** The text of a prompt; none where comments say it all. */
export async function promptText(text: string | undefined, options: PromptOptions): Promise<string> {
  if (text === undefined && options.file === undefined && options.comment !== undefined) return '';
  return await readText(text, options.file);
}

/** What an earlier request with an id of the caller's was answered with; null where there is none. */
export async function earlierDelivery(ledger: Ledger, on: On, { id }: PromptOptions): Promise<Delivery | null> {
  return id === undefined ? null : await ledger.deliveryGet({ ...on, client_id: id });
}

/** Comments by id, each with its version of a moment before; or, in a repeat, with the one that was consumed then. */
export async function references(
  ledger: Ledger,
  on: On,
  ids: string[] | undefined,
  earlier: Delivery | null,
): Promise<CommentReference[]> {
  if (ids === undefined) return [];
  const consumed = new Map(earlier?.comments.map((one) => [one.id, one]));
  const snapshot = await ledger.commentList(on);
  return ids.map((given) => {
    const { id, version } = consumed.get(given.toLowerCase()) ?? pendingComment(snapshot, given);
    return { id, version };
  });
}

/** Prints the id of a delivery alone on stdout, for $(…), and says where it is. */
export async function printDelivery(ledger: Ledger, on: On, delivery: Delivery, options: CallerOptions): Promise<void> {
  if (options.json) return printJson(delivery);
  printLine(delivery.id);
  if (delivery.replayed) note('This request was accepted before; nothing more was sent now.');
  note(await whereabouts(ledger, on, delivery));
}

async function whereabouts(ledger: Ledger, on: On, { id, session_id, action, state }: Delivery): Promise<string> {
  if (state !== 'pending') return `Its prompt to session ${session_id} is ${state}.`;
  if (action === 'queue') {
    const { entries } = await ledger.queueGet({ ...on, session_id });
    const place = entries.findIndex((one) => one.id === id) + 1;
    if (place > 0) return `Waits in the queue of session ${session_id}, at place ${place}.`;
  }
  return `Goes out to session ${session_id} now.`;
}
