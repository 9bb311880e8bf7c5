import { z } from 'zod';
import { type Action, defineAction, field } from '../action.ts';
import { EnvelopeError } from '../envelope.ts';

const session = { task_id: field.taskId, session_id: z.string() };

/** What a prompt is made of, sent at once or put into a queue. */
export const prompt = {
  ...session,
  content: z.string(),
  plan_comment_refs: z.array(z.strictObject({ id: z.guid(), version: field.integer })).optional(),
  require_primary_session: z.boolean().optional(),
  plan_mode: z.boolean().optional(),
  attachments: z.array(z.guid()).optional(),
};

/** `message.*` but the queue: prompts sent at once, and transcripts. */
export const messageActions: Record<string, Action> = {
  'message.add': defineAction({ ...prompt, client_message_id: z.string() }, ({ ledger, caller }, values) =>
    ledger.messageAdd({ principal: caller.principal_id, ...values }),
  ),
  'message.get': defineAction(
    {
      task_id: field.taskId,
      message_id: z.guid().optional(),
      client_message_id: z.string().optional(),
      client_queue_id: z.string().optional(),
    },
    async ({ ledger, caller }, { task_id, message_id, ...ids }) => {
      const by = { principal: caller.principal_id, task_id };
      const clientId = ids.client_message_id ?? ids.client_queue_id;
      const given = [message_id, ids.client_message_id, ids.client_queue_id].filter((id) => id !== undefined);
      if (given.length !== 1) {
        throw new EnvelopeError(
          'VALIDATION_ERROR',
          'One of message_id, client_message_id and client_queue_id is needed, and no more than one.',
        );
      }
      if (clientId === undefined) return await ledger.messageGet({ ...by, message_id: message_id ?? null });
      return await ledger.deliveryGet({ ...by, client_id: clientId });
    },
  ),
  'message.list': defineAction(
    {
      ...session,
      before_message_id: z.guid().nullish(),
      after_message_id: z.guid().nullish(),
      limit: field.integer.optional(),
    },
    async ({ ledger, caller }, values) => ({
      messages: await ledger.messageList({ principal: caller.principal_id, ...values }),
    }),
  ),
};
