import { z } from 'zod';
import { type Action, defineAction, field } from '../action.ts';
import { prompt } from './message.ts';

const queue = { task_id: field.taskId, session_id: z.string() };
const entry = { ...queue, entry_id: z.guid() };
const entries = { ...queue, entry_ids: z.array(z.guid()) };

/** `message.queue.*`: those that accept a prompt answer its delivery, the others the queue. */
export const queueActions: Record<string, Action> = {
  'message.queue.add': defineAction({ ...prompt, client_queue_id: z.string() }, ({ ledger, caller }, values) =>
    ledger.queueAdd({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.append': defineAction(
    { ...queue, content: z.string(), client_queue_id: z.string() },
    ({ ledger, caller }, values) => ledger.queueAppend({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.get': defineAction(queue, ({ ledger, caller }, values) =>
    ledger.queueGet({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.update': defineAction({ ...entry, content: z.string() }, ({ ledger, caller }, values) =>
    ledger.queueUpdate({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.remove': defineAction(entry, ({ ledger, caller }, values) =>
    ledger.queueRemove({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.cancel': defineAction(queue, ({ ledger, caller }, values) =>
    ledger.queueCancel({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.reorder': defineAction(
    { ...entries, queue_incarnation: z.guid().nullish() },
    ({ ledger, caller }, values) => ledger.queueReorder({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.drain': defineAction(queue, ({ ledger, caller }, values) =>
    ledger.queueDrain({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.auto_run.set': defineAction({ ...queue, auto_run: z.boolean() }, ({ ledger, caller }, values) =>
    ledger.queueAutoRunSet({ principal: caller.principal_id, ...values }),
  ),
  'message.queue.send_now': defineAction({ ...entries, turn_id: z.guid().nullish() }, ({ ledger, caller }, values) =>
    ledger.queueSendNow({ principal: caller.principal_id, ...values }),
  ),
};
