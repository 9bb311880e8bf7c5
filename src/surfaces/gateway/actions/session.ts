import { z } from 'zod';
import { type Action, defineAction, field } from '../action.ts';

const session = { task_id: field.taskId, session_id: z.string() };

/** `task.session.*` and `session.*`: each but the list answers the session. */
export const sessionActions: Record<string, Action> = {
  'task.session.create': defineAction(
    {
      task_id: field.taskId,
      name: z.string(),
      session_id: field.text,
      agent_name: field.text,
      transport: field.text,
      is_primary: z.boolean().nullish(),
    },
    ({ ledger, caller }, values) => ledger.sessionCreate({ principal: caller.principal_id, ...values }),
  ),
  'task.session.list': defineAction({ task_id: field.taskId }, async ({ ledger, caller }, { task_id }) => ({
    sessions: await ledger.sessionList({ principal: caller.principal_id, task_id }),
  })),
  'session.set_primary': defineAction(session, ({ ledger, caller }, values) =>
    ledger.sessionSetPrimary({ principal: caller.principal_id, ...values }),
  ),
  'session.set_state': defineAction(
    { ...session, state: z.string(), failure: field.text },
    ({ ledger, caller }, values) => ledger.sessionSetState({ principal: caller.principal_id, ...values }),
  ),
  'session.close': defineAction(session, ({ ledger, caller }, values) =>
    ledger.sessionClose({ principal: caller.principal_id, ...values }),
  ),
};
