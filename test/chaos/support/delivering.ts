import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import type { Sql } from '../../../src/postgres/connect.ts';
import { deliveryCounts, deliveryProblems } from './delivery-problems.ts';
import type { Fleet } from './fleet.ts';
import type { Told } from './prompting.ts';
import type { Recording } from './recording.ts';

/** Three tasks with a plan and three sessions each, which wait for prompts; of one task a worker runs the agents. */
export async function makeSessions(admin: Sql) {
  const ledger = createLedger(admin);
  const workspace_id = `w-${randomUUID()}`;
  await ledger.workspaceCreate({ name: 'Chaos', workspace_id });
  const { id: principal } = await ledger.principalCreate({ workspace_id, kind: 'user', display_name: 'Ann' });
  const sessions = [];
  for (const transport of ['acp', 'webhook', 'webhook']) {
    const on = { principal, task_id: `t-${randomUUID()}` };
    await ledger.taskCreate({ ...on, title: 'Task' });
    const { plan_id } = await ledger.planCreate({ ...on, content: 'the plan' });
    for (const session_id of ['a', 'b', 'c']) {
      await ledger.sessionCreate({ ...on, session_id, name: session_id, agent_name: transport, transport });
      sessions.push({ task_id: on.task_id, plan_id, session_id });
    }
  }
  await allWait(admin);
  return { principal, sessions };
}

/** Waits until nothing is under way, stops the workers, and looks whether all of it is right. */
export async function expectWhole(
  admin: Sql,
  { fleet, recording, told }: { fleet: Fleet; recording: Recording; told: Told },
): Promise<void> {
  await vi.waitFor(
    async () => {
      await fleet.killStuck();
      const left = await admin`
        select state, count(*)::integer from planledger.receipts
        where state in ('pending', 'reserved', 'attempted') group by state`;
      expect({ left, endedByThemselves: fleet.endedByThemselves }).toEqual({ left: [], endedByThemselves: [] });
    },
    { timeout: 90_000, interval: 500 },
  );
  await allWait(admin);
  await fleet.stop();
  const recorded = await recording.prompts();
  await recording.close();
  const { accepted, refused, comments, ...others } = told;
  const sizes = { accepted: accepted.size, refused: refused.size, comments: comments.size };
  console.info(await deliveryCounts(admin, recorded), { ...sizes, ...others, workersKilled: fleet.killed });
  expect(await deliveryProblems(admin, recorded, told)).toEqual([]);
}

async function allWait(admin: Sql): Promise<void> {
  await vi.waitFor(
    async () => {
      const busy = await admin`
        select id, state, failure from planledger.task_sessions
        where transport is not null and state not in ('WAITING_FOR_INPUT', 'FAILED')`;
      expect(busy).toEqual([]);
    },
    { timeout: 30_000, interval: 50 },
  );
}
