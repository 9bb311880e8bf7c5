import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { PlanledgerError } from '../../ledger/errors.ts';
import type { Delivery, Ledger, Session } from '../../ledger/generated.ts';
import { stageFiles } from './attach.ts';
import { asCaller, type On } from './caller.ts';
import {
  acceptedCommand,
  earlierDelivery,
  type PromptOptions,
  printDelivery,
  promptCommand,
  promptText,
  references,
} from './prompt.ts';

interface SendOptions extends PromptOptions {
  session: string;
}

/** `planledger send` and `planledger run`. */
export function addSendCommands(program: Command): void {
  const send = program
    .command('send')
    .description('send a prompt to a session that waits for one')
    .argument('<task>', 'task id')
    .requiredOption('--session <id>', 'the session (required)');
  promptCommand(send).action(async (task: string, text: string | undefined, options: SendOptions) => {
    const content = await promptText(text, options);
    await asCaller(options, async (ledger, principal) => {
      const on = { principal, task_id: task };
      const earlier = await earlierDelivery(ledger, on, options);
      const id = options.id ?? randomUUID();
      const delivery = await ledger.messageAdd({
        ...on,
        session_id: options.session,
        client_message_id: id,
        content,
        plan_comment_refs: await references(ledger, on, options.comment, earlier),
        plan_mode: options.planMode,
        attachments: await stageFiles(ledger, on, options.attach, id),
      });
      await printDelivery(ledger, on, delivery, options);
    });
  });

  const run = program
    .command('run')
    .description('have the primary session work on one comment, now or when it is free')
    .argument('<task>', 'task id')
    .argument('<comment>', 'id of a pending comment');
  acceptedCommand(run).action((task: string, comment: string, options: PromptOptions) =>
    asCaller(options, async (ledger, principal) => {
      const on = { principal, task_id: task };
      const earlier = await earlierDelivery(ledger, on, options);
      const plan_comment_refs = await references(ledger, on, [comment], earlier);
      const primary = await primarySession(ledger, on, earlier);
      const id = options.id ?? randomUUID();
      const attachments = await stageFiles(ledger, on, options.attach, id);
      const request = { ...on, session_id: primary.id, content: '', plan_comment_refs, attachments };
      const delivery = await nowOrLater(
        ledger,
        { ...request, require_primary_session: true, plan_mode: true },
        id,
        primary.accepts === 'direct',
      );
      await printDelivery(ledger, on, delivery, options);
    }),
  );
}

type Request = Omit<Parameters<Ledger['messageAdd']>[0], 'client_message_id'>;

/** One id for both ways, of which therefore one at most is taken. */
async function nowOrLater(ledger: Ledger, request: Request, id: string, isFree: boolean): Promise<Delivery> {
  if (isFree) {
    try {
      return await ledger.messageAdd({ ...request, client_message_id: id });
    } catch (error) {
      const isBusy = error instanceof PlanledgerError && error.code === 'session_not_promptable';
      if (!isBusy) throw error;
    }
  }
  return await ledger.queueAdd({ ...request, client_queue_id: id });
}

/** The primary session; or, in a repeat, the one that was it then. */
async function primarySession(ledger: Ledger, on: On, earlier: Delivery | null): Promise<Session> {
  const sessions = await ledger.sessionList(on);
  const primary = sessions.find(({ id, is_primary }) => (earlier === null ? is_primary : id === earlier.session_id));
  if (primary !== undefined) return primary;
  throw new PlanledgerError('primary_session_changed', `Task ${on.task_id} has no primary session.`, {
    operation: 'list_sessions',
    taskId: on.task_id,
    nextAction: `\`planledger session primary ${on.task_id} SESSION\` makes one of its sessions that; \`session create\` makes a session.`,
  });
}
