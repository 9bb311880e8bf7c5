#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { programVersion } from '../../version.ts';
import { addCommentCommands } from './comment.ts';
import { addDemoCommand } from './demo.ts';
import { addDoctorCommand } from './doctor.ts';
import { addEventCommands } from './events.ts';
import { describeFailure, failureText, ObstacleError } from './failure.ts';
import { addMcpCommand } from './mcp.ts';
import { addMigrateCommand } from './migrate.ts';
import { visible } from './output.ts';
import { addPlanCommands } from './plan.ts';
import { addQueueCommands } from './queue.ts';
import { addReceiptCommands } from './receipt.ts';
import { addSendCommands } from './send.ts';
import { addServeCommand } from './serve.ts';
import { addSessionCommands } from './session.ts';
import { addStartCommand } from './start.ts';
import { addTaskCommands } from './task.ts';
import { addTokenCommands } from './token.ts';
import { addWorkerCommand } from './worker.ts';

const program = new Command('planledger')
  .description('Task plans for coding agents, kept in PostgreSQL so that they cannot be lost.')
  .version(programVersion)
  .showHelpAfterError('(--help says more)')
  .configureOutput({
    // It repeats arguments as they are; the only line end of its own is the one before a suggestion.
    outputError: (text, write) => {
      const line = text
        .trimEnd()
        .replace(/^error:/, 'planledger: usage:')
        .replace('\n(Did you mean', ' (Did you mean');
      write(`${visible(line)}\n`);
    },
  })
  .exitOverride();

addStartCommand(program);
addDemoCommand(program);
addServeCommand(program);
addWorkerCommand(program);
addMcpCommand(program);
addMigrateCommand(program);
addDoctorCommand(program);
addTokenCommands(program);
addTaskCommands(program);
addPlanCommands(program);
addCommentCommands(program);
addSessionCommands(program);
addSendCommands(program);
addQueueCommands(program);
addReceiptCommands(program);
addEventCommands(program);

// `planledger … | head` closes the pipe early, which is no failure. What serves stops as Ctrl-C would stop it.
process.stdout.once('error', (error: NodeJS.ErrnoException) => {
  process.stdout.on('error', () => {});
  if (error.code !== 'EPIPE') {
    const full = new ObstacleError('output_failed', `The output cannot be written (${error.message}).`, 'Make room.');
    process.stderr.write(failureText(full));
    process.exitCode = 1;
  }
  if (process.listenerCount('SIGTERM') === 0) process.exit();
  process.kill(process.pid, 'SIGTERM');
});
// Nobody reads what a person may want to know.
process.stderr.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    // Help and version were asked for; anything else is a mistake in the command, which commander has explained.
    process.exitCode = ['commander.helpDisplayed', 'commander.version'].includes(error.code) ? 0 : 2;
  } else {
    process.stderr.write(failureText(error));
    process.exitCode = describeFailure(error).exitCode;
  }
}
