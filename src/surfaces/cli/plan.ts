import type { Command } from 'commander';
import { printAcknowledgement } from './acknowledgement.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { addPlanHistoryCommands } from './plan-history.ts';
import { addPlanShowCommand } from './plan-show.ts';
import { readText, type TextOptions, takesText } from './text-input.ts';

interface WriteOptions extends CallerOptions, TextOptions {
  title?: string;
  expectedVersion?: string;
  requestId?: string;
}

/** `planledger plan …`. */
export function addPlanCommands(program: Command): void {
  const plan = program.command('plan').description('read and write the plan of a task');
  addPlanShowCommand(plan);
  addPlanHistoryCommands(plan);

  writeCommand(plan, 'append', 'add text to the end of a plan').action(
    async (task: string, text: string | undefined, options: WriteOptions) => {
      const fragment = await readText(text, options.file);
      await asCaller(options, async (ledger, principal) => {
        printAcknowledgement(
          await ledger.planAppend({ ...writeArguments(task, options), principal, fragment }),
          options,
        );
      });
    },
  );
  writeCommand(plan, 'create', 'write the first plan of a task').action(
    async (task: string, text: string | undefined, options: WriteOptions) => {
      const content = await readText(text, options.file);
      await asCaller(options, async (ledger, principal) => {
        printAcknowledgement(
          await ledger.planCreate({ ...writeArguments(task, options), principal, content }),
          options,
        );
      });
    },
  );
}

function writeCommand(plan: Command, name: string, description: string): Command {
  const command = plan.command(name).description(description).argument('<task>', 'task id');
  takesText(command)
    .option('--title <title>', 'new title of the plan')
    .option('--expected-version <version>', 'refuse when the plan is not at this version')
    .option('--request-id <id>', 'an id of yours that makes repeating the same call harmless')
    .option('--json', 'print the acknowledgement as JSON');
  return callerOptions(command);
}

function writeArguments(task: string, options: WriteOptions) {
  return {
    task_id: task,
    title: options.title,
    expected_version: options.expectedVersion,
    request_id: options.requestId,
  };
}
