import { expect, test } from 'vitest';
import { holdPlanLock, untilWaiting } from '../../chaos/support/locks.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { connectHttp, connectStdio, type Era, startHttp, tokenFor, toolNames } from './clients.ts';

const db = useDatabase();

async function makePlan() {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'start' });
  return { ...cast, ...(await tokenFor(db, cast.agent)) };
}

const append = (content: string) => ({
  name: toolNames.update ?? '',
  arguments: { content, mode: 'append' },
});

const transports: [string, (url: string, token: string) => ReturnType<typeof connectHttp>, string][] = (
  ['legacy', 'modern'] satisfies Era[]
).flatMap((era) => [
  [`HTTP, ${era} protocol`, async (url, token) => connectHttp(url, token, era), 'test app'],
  [`stdio, ${era} protocol`, async (_, token) => connectStdio(db.url, token, era), 'test stdio'],
]);

test.each(transports)(
  'a call that its client cancels while it waits for the lock writes nothing: %s',
  async (...how) => {
    const [, connectClient, applicationName] = how;
    const { token, agent, task } = await makePlan();
    const { url } = await startHttp(db);
    const client = await connectClient(url, token);
    const release = await holdPlanLock(db.admin, task);
    const caller = new AbortController();
    const call = client.callTool(append('cancelled'), { signal: caller.signal }).catch(() => 'cancelled');
    await untilWaiting(db.admin, applicationName, 1);
    caller.abort();
    expect(await call).toBe('cancelled');
    await untilWaiting(db.admin, applicationName, 0);
    await release();
    await client.callTool(append('after')); // the session goes on
    const plan = await db.ledger.planGet({ principal: agent, task_id: task });
    expect(plan?.content).toBe('start\n\nafter');
  },
);

test.each(['legacy', 'modern'] satisfies Era[])(
  'a call whose client hangs up while it waits for the lock writes nothing: HTTP, %s protocol',
  async (era) => {
    const { token, agent, task } = await makePlan();
    const { url } = await startHttp(db);
    const client = await connectHttp(url, token, era);
    const release = await holdPlanLock(db.admin, task);
    const call = client.callTool(append('hung up')).catch(() => 'hung up');
    await untilWaiting(db.admin, 'test app', 1);
    await client.close();
    expect(await call).toBe('hung up');
    await untilWaiting(db.admin, 'test app', 0);
    await release();
    const plan = await db.ledger.planGet({ principal: agent, task_id: task });
    expect(plan?.content).toBe('start');
  },
);

test.each(['legacy', 'modern'] satisfies Era[])(
  'a call that waits when the server closes is cancelled and told so: HTTP, %s protocol',
  async (era) => {
    const { token, agent, task } = await makePlan();
    const { url, app } = await startHttp(db);
    const client = await connectHttp(url, token, era);
    const release = await holdPlanLock(db.admin, task);
    const call = client.callTool(append('too late'));
    await untilWaiting(db.admin, 'test app', 1);
    const closed = app.close();
    expect((await call).structuredContent).toMatchObject({ code: 'database_unavailable', write_applied: false });
    await closed;
    await release();
    const plan = await db.ledger.planGet({ principal: agent, task_id: task });
    expect(plan?.content).toBe('start');
  },
);
