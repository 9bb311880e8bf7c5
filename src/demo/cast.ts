import type { Ledger } from '../ledger/generated.ts';

/** Who takes part, and the task with the plan they work on. */
export interface Cast {
  person: string;
  /** The tokens of the agents Ada and Bo. */
  tokens: [string, string];
  taskId: string;
  planId: string;
}

export const firstPlan = '# Ship the sign-in page\n\n- [ ] Agree on the texts\n- [ ] Measure how long it takes';

/** Makes a workspace, a person, a task, its plan, and two agents that reach this task. Called as an administrator. */
export async function makeCast(ledger: Ledger): Promise<Cast> {
  const workspace_id = 'demo';
  const task_id = 'sign-in';
  await ledger.workspaceCreate({ name: 'Demo', workspace_id });
  const { id: principal } = await ledger.principalCreate({ workspace_id, kind: 'user', display_name: 'Dana' });
  await ledger.taskCreate({ principal, task_id, title: 'Ship the sign-in page' });
  const { plan_id } = await ledger.planCreate({ principal, task_id, content: firstPlan, title: 'Sign-in page' });
  const tokenOf = async (display_name: string) => {
    const agent = await ledger.principalCreate({ workspace_id, kind: 'agent', display_name, task_id });
    return (await ledger.tokenCreate({ principal: agent.id, name: 'demo' })).token;
  };
  return { person: principal, tokens: [await tokenOf('Ada'), await tokenOf('Bo')], taskId: task_id, planId: plan_id };
}

/** Five sections of one agent. */
export function sectionsOf(name: string): string[] {
  return [1, 2, 3, 4, 5].map(
    (number) => `## ${name}, section ${number}\n\n- [ ] What ${name} found out, part ${number}`,
  );
}
