import type { Command } from 'commander';
import type { Session } from '../../ledger/generated.ts';
import { asCaller, type CallerOptions, callerOptions } from './caller.ts';
import { note, printJson, printLine, printTable, short } from './output.ts';
import { showTranscript } from './transcript.ts';

interface CreateOptions extends CallerOptions {
  id?: string;
  agent?: string;
  transport?: string;
  primary?: boolean;
}

/** `planledger session …`: the sessions of agents on a task. */
export function addSessionCommands(program: Command): void {
  const session = program.command('session').description('sessions of agents on a task');

  const create = session
    .command('create')
    .description('make a session; the first one of a task is its primary')
    .argument('<task>', 'task id')
    .argument('<name>', 'for people')
    .option('--id <id>', 'session id of your choice (default: a generated one)')
    .option('--agent <name>', 'the name under which a worker knows the agent (default: the name of the session)')
    .option(
      '--transport <transport>',
      'acp, passthrough or webhook (default: none; a program of yours takes the prompts)',
    )
    .option('--primary', 'take the place of the primary session')
    .option('--json', 'print the session as JSON');
  callerOptions(create).action((task: string, name: string, options: CreateOptions) =>
    asCaller(options, async (ledger, principal) => {
      const { id: session_id, agent: agent_name, transport, primary: is_primary } = options;
      const made = { principal, task_id: task, name, session_id, agent_name, transport, is_primary };
      const row = await ledger.sessionCreate(made);
      answer(row, options);
      if (!options.json) printLine(row.id); // alone on stdout, for $(…)
    }),
  );

  const list = session
    .command('list')
    .description('list the sessions of a task')
    .argument('<task>', 'task id')
    .option('--json', 'print the list as JSON');
  callerOptions(list).action((task: string, options: CallerOptions) =>
    asCaller(options, async (ledger, principal) => {
      const rows = await ledger.sessionList({ principal, task_id: task });
      if (options.json) return printJson(rows);
      if (rows.length === 0) return printLine('no sessions');
      printTable(
        ['SESSION', 'NAME', 'AGENT', 'TRANSPORT', 'STATE', 'PRIMARY', 'FAILURE'],
        rows.map((row) => [
          row.id,
          row.name,
          row.agent_name,
          row.transport ?? '-',
          row.state,
          row.is_primary ? 'yes' : '-',
          short(row.failure ?? '-'),
        ]),
      );
    }),
  );

  onSession(session, 'primary', 'make a session the primary one of its task').action(
    (task: string, session_id: string, options: CallerOptions) =>
      asCaller(options, async (ledger, principal) => {
        answer(await ledger.sessionSetPrimary({ principal, task_id: task, session_id }), options);
      }),
  );

  onSession(session, 'close', 'end a session, for good').action(
    (task: string, session_id: string, options: CallerOptions) =>
      asCaller(options, async (ledger, principal) => {
        answer(await ledger.sessionClose({ principal, task_id: task, session_id }), options);
      }),
  );

  onSession(session, 'show', 'print the transcript of a session').action(
    (task: string, session_id: string, options: CallerOptions) =>
      asCaller(options, (ledger, principal) =>
        showTranscript(ledger, { principal, task_id: task, session_id }, options),
      ),
  );
}

function onSession(session: Command, name: string, description: string): Command {
  const command = session
    .command(name)
    .description(description)
    .argument('<task>', 'task id')
    .argument('<session>', 'its id')
    .option('--json', `print the ${name === 'show' ? 'messages' : 'session'} as JSON`);
  return callerOptions(command);
}

function answer(session: Session, options: CallerOptions): void {
  if (options.json) printJson(session);
  else note(`Session "${session.name}" is ${session.state}${session.is_primary ? ', and the primary one' : ''}.`);
}
