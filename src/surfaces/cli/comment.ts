import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { CommentSnapshot, Ledger } from '../../ledger/generated.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { UsageError } from './failure.ts';
import { note, printJson, printLine, printTable, short } from './output.ts';
import { pendingComment } from './pending-comment.ts';
import { readText, type TextOptions, takesText } from './text-input.ts';

interface EditOptions extends CallerOptions, TextOptions {}

interface AddOptions extends EditOptions {
  about: string;
  id?: string;
  from: number;
  to?: number;
}

/** `planledger comment …`: pending comments on the plan of a task. */
export function addCommentCommands(program: Command): void {
  const comment = program.command('comment').description('comments on a plan that wait for a delivery');

  const list = comment
    .command('list')
    .description('list the pending comments of a plan')
    .argument('<task>', 'task id')
    .option('--json', 'print the snapshot as JSON');
  callerOptions(list).action((task: string, options: CallerOptions) =>
    asCaller(options, async (ledger, principal) => {
      const snapshot = await ledger.commentList({ principal, task_id: task });
      if (options.json) return printJson(snapshot);
      if (snapshot.comments.length === 0) return printLine('no comments');
      printTable(
        ['ID', 'VERSION', 'CREATED (UTC)', 'ABOUT', 'COMMENT'],
        snapshot.comments.map((one) => [
          one.id,
          String(one.version),
          one.created_at.replace('T', ' ').slice(0, 19),
          short(one.selected_text),
          short(one.body),
        ]),
      );
    }),
  );

  textCommand(comment, 'add', 'comment on a part of a plan', '<task>')
    .requiredOption('--about <text>', 'the part of the plan it is about (required; not looked for in the plan)')
    .option('--id <uuid>', 'an id of yours, which makes a repeat harmless (default: a generated one)')
    .option('--from <position>', 'where that part begins in an editor that shows it', position, 0)
    .option('--to <position>', 'where it ends (default: where it begins)', position)
    .action(async (task: string, text: string | undefined, options: AddOptions) => {
      const body = await readText(text, options.file);
      const comment_id = options.id ?? randomUUID();
      await asCaller(options, async (ledger, principal) => {
        const { plan_id } = await ledger.commentList({ principal, task_id: task });
        const anchors = { anchor_from: options.from, anchor_to: options.to ?? options.from };
        const about = { principal, task_id: task, plan_id, comment_id, selected_text: options.about };
        answer(await ledger.commentCreate({ ...about, body, ...anchors }), options);
        if (!options.json) printLine(comment_id); // alone on stdout, for $(…)
      });
    });

  textCommand(comment, 'edit', 'change what a comment says', '<task>', '<id>').action(
    async (task: string, id: string, text: string | undefined, options: EditOptions) => {
      const body = await readText(text, options.file);
      await change(task, id, options, (ledger, by) => ledger.commentUpdate({ ...by, body }));
    },
  );

  const remove = comment
    .command('delete')
    .description('delete a comment; its id stays used')
    .argument('<task>', 'task id')
    .argument('<id>', 'its id')
    .option('--json', 'print the comments that are left as JSON');
  callerOptions(remove).action((task: string, id: string, options: CallerOptions) =>
    change(task, id, options, (ledger, by) => ledger.commentDelete(by)),
  );
}

interface Reference {
  principal: string;
  task_id: string;
  plan_id: string | null;
  comment_id: string;
  expected_version: number;
}

/** Changes a comment as it is now: the version is the one listed a moment before, and checked under the lock. */
async function change(
  task: string,
  id: string,
  options: CallerOptions,
  call: (ledger: Ledger, by: Reference) => Promise<CommentSnapshot>,
): Promise<void> {
  await asCaller(options, async (ledger, principal) => {
    const snapshot = await ledger.commentList({ principal, task_id: task });
    const found = pendingComment(snapshot, id);
    const by = {
      principal,
      task_id: task,
      plan_id: snapshot.plan_id,
      comment_id: found.id,
      expected_version: found.version,
    };
    answer(await call(ledger, by), options);
  });
}

function answer(snapshot: CommentSnapshot, options: CallerOptions): void {
  if (options.json) printJson(snapshot);
  else note(`${snapshot.comments.length} pending, revision ${snapshot.revision}`);
}

function textCommand(comment: Command, name: string, description: string, ...targets: string[]): Command {
  const command = comment.command(name).description(description);
  for (const target of targets) command.argument(target, target === '<task>' ? 'task id' : 'its id');
  return callerOptions(takesText(command).option('--json', 'print all pending comments as JSON'));
}

function position(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`${text} is not a position.`, 'Give --from and --to whole numbers.');
}
