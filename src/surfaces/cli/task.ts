import type { Command } from 'commander';
import type { Ledger, TaskListRow } from '../../ledger/generated.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { note, printJson, printLine, printTable, when } from './output.ts';

interface CreateOptions extends CallerOptions {
  id?: string;
  parent?: string;
}

/** `planledger task …`. */
export function addTaskCommands(program: Command): void {
  const task = program.command('task').description('make and list tasks');
  const create = task
    .command('create')
    .description('make a task in the workspace of the token')
    .argument('<title>', 'for people')
    .option('--id <id>', 'task id of your choice (default: a generated one)')
    .option('--parent <task>', 'the task above it')
    .option('--json', 'print the task as JSON');
  callerOptions(create).action(async (title: string, options: CreateOptions) => {
    await asCaller(options, async (ledger, principal) => {
      const row = await ledger.taskCreate({
        principal,
        task_id: options.id ?? null,
        title,
        parent_task_id: options.parent,
      });
      if (options.json) return printJson(row);
      note(`Created task "${row.title}":`);
      printLine(row.id); // alone on stdout, for $(…)
    });
  });

  const list = task
    .command('list')
    .description('list the tasks that the token reaches')
    .option('--json', 'print the list as JSON');
  callerOptions(list).action(async (options: CallerOptions) => {
    await asCaller(options, async (ledger, principal) => {
      const rows = await allTasks(ledger, principal);
      if (options.json) return printJson(rows);
      if (rows.length === 0) return printLine('no tasks');
      printTable(
        ['TASK', 'TITLE', 'PARENT', 'PLAN', 'CREATED (UTC)', 'ARCHIVED (UTC)'],
        rows.map((row) => [
          row.id,
          row.title,
          row.parent_task_id ?? '-',
          row.plan_title === null ? '-' : `${row.plan_title} (revision ${row.plan_revision_number})`,
          when(row.created_at),
          when(row.archived_at),
        ]),
      );
    });
  });
}

async function allTasks(ledger: Ledger, principal: string): Promise<TaskListRow[]> {
  const rows: TaskListRow[] = [];
  for (;;) {
    const page = await ledger.taskList({ principal, after_task_id: rows.at(-1)?.id });
    if (page.length === 0) return rows;
    rows.push(...page);
  }
}
