import { z } from 'zod';
import type { Ledger, PlanWriteAck } from '../../../ledger/generated.ts';
import type { Caller } from '../../caller.ts';
import { type Action, type ActionContext, defineAction, defineLenientAction, field } from '../action.ts';
import { planObject, revisionObject } from '../objects.ts';

const document = {
  task_id: field.taskId,
  content: field.text,
  title: field.text,
  expected_version: field.version,
  allow_truncation: z.boolean().nullish(),
  request_id: field.requestId,
};

/** `task.plan.*` but comments. */
export const planActions: Record<string, Action> = {
  'task.plan.get': defineAction({ task_id: field.taskId }, async ({ ledger, caller }, { task_id }) =>
    planObject(await ledger.planGet({ principal: caller.principal_id, task_id })),
  ),
  'task.plan.create': defineLenientAction(document, (context, { content = null, ...values }) =>
    write(context, values.task_id, (ledger, by) => ledger.planCreate({ ...by, ...values, content })),
  ),
  'task.plan.update': defineLenientAction(document, (context, { content = null, ...values }) =>
    write(context, values.task_id, (ledger, by) => ledger.planReplace({ ...by, ...values, content })),
  ),
  'task.plan.delete': defineAction(
    { task_id: field.taskId, request_id: field.requestId },
    ({ ledger, caller }, values) => ledger.planDelete({ principal: caller.principal_id, ...values }),
  ),
  'task.plan.revisions.list': defineAction({ task_id: field.taskId }, async ({ ledger, caller }, { task_id }) => {
    const revisions = await ledger.revisionList({ ...admission(caller), task_id, limit: 100 });
    return { revisions: revisions.map(revisionObject) };
  }),
  'task.plan.revision.get': defineAction(
    { task_id: field.taskId, revision_id: z.string() },
    async ({ ledger, caller }, values) =>
      revisionObject(await ledger.revisionGet({ principal: caller.principal_id, ...values })),
  ),
  'task.plan.revert': defineAction(
    { task_id: field.taskId, revision_id: z.string(), request_id: field.requestId },
    (context, values) =>
      write(context, values.task_id, (ledger, { principal }) => ledger.planRevert({ principal, ...values })),
  ),
  'task.plan.implementation_started': defineAction(
    { task_id: field.taskId, session_id: z.string() },
    ({ ledger, caller }, values) => ledger.planMarkImplementationStarted({ principal: caller.principal_id, ...values }),
  ),
};

interface Admission {
  principal: string;
  /** The browser rules are for users; whoever else comes this way has those of agents. */
  policy: 'browser' | 'agent';
}

function admission({ principal_id, kind }: Caller): Admission {
  return { principal: principal_id, policy: kind === 'user' ? 'browser' : 'agent' };
}

/** The plan as the write left it, read before anybody else can write, and what the write committed. */
function write(
  { transaction, caller }: ActionContext,
  task_id: string,
  call: (ledger: Ledger, by: Admission) => Promise<PlanWriteAck>,
): Promise<object> {
  return transaction(async (ledger) => {
    const acknowledgement = await call(ledger, admission(caller));
    const plan = await ledger.planGet({ principal: caller.principal_id, task_id });
    return { ...planObject(plan), acknowledgement };
  });
}
