import { expect } from 'vitest';
import type { PlanGetRow, PlanWriteAck } from '../../src/ledger/generated.ts';
import { type Cast, type Fixture, makeCast } from '../support/fixture.ts';

/** A cast whose task has a plan. */
export interface Planned extends Cast {
  /** What the creation answered. */
  created: PlanWriteAck;
}

/** A fresh task with a plan of exactly `content`, written by the agent, or by the user where it is empty. */
export async function makePlan(db: Fixture, content: string, title?: string): Promise<Planned> {
  const cast = await makeCast(db);
  const values = { task_id: cast.task, content, ...(title === undefined ? {} : { title }) };
  const created =
    content === ''
      ? await db.ledger.planCreate({ principal: cast.user, policy: 'browser', ...values })
      : await db.ledger.planCreate({ principal: cast.agent, ...values });
  return { ...cast, created };
}

/** The plan, which must exist. */
export async function read({ ledger }: Fixture, { agent, task }: Cast): Promise<PlanGetRow> {
  const plan = await ledger.planGet({ principal: agent, task_id: task });
  if (plan === null) expect.unreachable('the task has no plan');
  return plan;
}

/** Exact content of every revision, oldest first. */
export async function history({ ledger }: Fixture, { agent, task }: Cast): Promise<string[]> {
  const rows = await ledger.revisionList({ principal: agent, task_id: task, limit: 100 });
  const texts = rows.map(({ id }) => ledger.revisionGet({ principal: agent, task_id: task, revision_id: id }));
  return (await Promise.all(texts)).map(({ content }) => content).reverse();
}

/** Another agent of the same session and name, and so another author. */
export async function otherAgent({ admin }: Fixture, { workspace, task, session }: Cast): Promise<string> {
  const [row] = await admin<{ id: string }[]>`
    select id from planledger.principal_create(${workspace}, 'agent', 'Bot', p_task_id => ${task}, p_session_id => ${session})`;
  return row?.id ?? expect.unreachable('no principal was made');
}

/** Makes the history of a task older, as an administrator, so that no test has to wait. */
export async function age({ admin }: Fixture, task: string, sinceUpdate: string, sinceCreation = sinceUpdate) {
  await admin`
    update planledger.plan_revisions set updated_at = updated_at - ${sinceUpdate}::text::interval,
      created_at = created_at - ${sinceCreation}::text::interval
    where task_id = ${task}`;
}
