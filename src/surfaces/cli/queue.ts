import { randomUUID } from 'node:crypto';
import { Argument, type Command } from 'commander';
import type { Ledger, Queue } from '../../ledger/generated.ts';
import { stageFiles } from './attach.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { note, printJson, printLine, printTable, short, when } from './output.ts';
import { earlierDelivery, type PromptOptions, printDelivery, promptCommand, promptText, references } from './prompt.ts';
import { readText, type TextOptions, takesText } from './text-input.ts';

/** `planledger queue …`: the prompts that wait for a session. */
export function addQueueCommands(program: Command): void {
  const queue = program.command('queue').description('prompts that wait for a session');

  queueCommand(queue, 'list', 'list what waits, in the order in which it goes out').action(
    (task: string, session: string, options: CallerOptions) =>
      asCaller(options, async (ledger, principal) => {
        const found = await ledger.queueGet({ principal, task_id: task, session_id: session });
        if (!options.json) printEntries(found);
        answer(found, options);
      }),
  );

  const add = onSession(queue, 'add', 'put a prompt into the queue of a session');
  promptCommand(add).action(
    async (task: string, session_id: string, text: string | undefined, options: PromptOptions) => {
      const content = await promptText(text, options);
      await asCaller(options, async (ledger, principal) => {
        const on = { principal, task_id: task };
        const earlier = await earlierDelivery(ledger, on, options);
        const plan_comment_refs = await references(ledger, on, options.comment, earlier);
        const client_queue_id = options.id ?? randomUUID();
        const attachments = await stageFiles(ledger, on, options.attach, client_queue_id);
        const request = {
          ...on,
          session_id,
          client_queue_id,
          content,
          plan_comment_refs,
          plan_mode: options.planMode,
          attachments,
        };
        const delivery = await ledger.queueAdd(request);
        await printDelivery(ledger, on, delivery, options);
      });
    },
  );

  const edit = queueCommand(queue, 'edit', 'replace the whole text of an entry').argument('<entry>', 'its id');
  takesText(edit).action(
    async (
      task: string,
      session: string,
      entry_id: string,
      text: string | undefined,
      options: CallerOptions & TextOptions,
    ) => {
      const content = await readText(text, options.file);
      await change(task, session, options, (ledger, on) => ledger.queueUpdate({ ...on, entry_id, content }));
    },
  );

  queueCommand(queue, 'remove', 'take an entry out; comments that it carried stay consumed')
    .argument('<entry>', 'its id')
    .action((task: string, session: string, entry_id: string, options: CallerOptions) =>
      change(task, session, options, (ledger, on) => ledger.queueRemove({ ...on, entry_id })),
    );

  queueCommand(queue, 'clear', 'take all entries out; comments that they carried stay consumed').action(
    (task: string, session: string, options: CallerOptions) =>
      change(task, session, options, (ledger, on) => ledger.queueCancel(on)),
  );

  queueCommand(queue, 'reorder', 'put the entries into another order')
    .argument('<entry...>', 'the ids of all that wait, the first to go out first')
    .action((task: string, session: string, entry_ids: string[], options: CallerOptions) =>
      change(task, session, options, (ledger, on) => ledger.queueReorder({ ...on, entry_ids })),
    );

  queueCommand(queue, 'drain', 'have the first entry go out now').action(
    (task: string, session: string, options: CallerOptions) =>
      change(task, session, options, (ledger, on) => ledger.queueDrain(on)),
  );

  queueCommand(queue, 'auto-run', 'say whether entries go out by themselves when the session is free')
    .addArgument(new Argument('<switch>').choices(['on', 'off']))
    .action((task: string, session: string, position: string, options: CallerOptions) =>
      change(task, session, options, (ledger, on) => ledger.queueAutoRunSet({ ...on, auto_run: position === 'on' })),
    );

  queueCommand(queue, 'send-now', 'send entries in one prompt now, before anything else')
    .argument('<entry...>', 'their ids, in the order of the prompt')
    .action((task: string, session: string, entry_ids: string[], options: CallerOptions) =>
      change(task, session, options, (ledger, on) => ledger.queueSendNow({ ...on, entry_ids })),
    );
}

function onSession(queue: Command, name: string, description: string): Command {
  return queue.command(name).description(description).argument('<task>', 'task id').argument('<session>', 'session id');
}

function queueCommand(queue: Command, name: string, description: string): Command {
  return callerOptions(onSession(queue, name, description).option('--json', 'print the queue as JSON'));
}

interface OnSession {
  principal: string;
  task_id: string;
  session_id: string;
}

async function change(
  task_id: string,
  session_id: string,
  options: CallerOptions,
  call: (ledger: Ledger, on: OnSession) => Promise<Queue>,
): Promise<void> {
  await asCaller(options, async (ledger, principal) => {
    answer(await call(ledger, { principal, task_id, session_id }), options);
  });
}

function answer(queue: Queue, options: CallerOptions): void {
  if (options.json) printJson(queue);
  else note(`${queue.count} of at most ${queue.max} wait; auto-run is ${queue.auto_run ? 'on' : 'off'}`);
}

function printEntries({ entries }: Queue): void {
  const rows = entries.map((entry) => [
    entry.id,
    `${entry.author_name} (${entry.author_kind})`,
    String(entry.comments.length),
    when(new Date(entry.created_at)),
    short(entry.content),
  ]);
  if (rows.length === 0) printLine('nothing waits');
  else printTable(['ENTRY', 'AUTHOR', 'COMMENTS', 'ADDED (UTC)', 'TEXT'], rows);
}
