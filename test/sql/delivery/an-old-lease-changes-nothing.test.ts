import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { failure } from '../observe.ts';

const db = useDatabase();

test('at every stage of another worker’s lease, each call with the tokens of the one before is lease_lost and changes nothing', async () => {
  const worker = createLedger(db.admin);
  const { user: principal, task: task_id } = await makeCast(db);
  const on = { principal, task_id, session_id: 's' };
  await db.ledger.sessionCreate({ ...on, name: 's', transport: 'acp' });
  await db.ledger.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' });
  const { id } = await db.ledger.messageAdd({ ...on, client_message_id: 'm', content: 'go' });
  const reserve = async (holder: string) => {
    const { lease_token, agent_token } = await worker.receiptReserve({ task_id, receipt_id: id, holder });
    return { of: { task_id, token: lease_token ?? '' }, agent: { task_id, token: agent_token ?? '' } };
  };
  const old = await reserve('frozen');
  const everything = async () => [
    await db.admin`select * from planledger.receipts where task_id = ${task_id}`,
    await db.admin`select * from planledger.task_sessions where task_id = ${task_id} order by id`,
    await db.admin`select * from planledger.session_messages where task_id = ${task_id} order by position`,
    await db.admin`select * from planledger.session_agents where task_id = ${task_id}`,
    await db.admin`select * from planledger.events where task_id = ${task_id} order by id`,
    await db.admin`select key, run_at from planledger_jobs.jobs order by id`,
  ];
  const calls: Record<string, () => Promise<unknown>> = {
    mark: () => worker.receiptMarkAttempted(old.of),
    release: () => worker.receiptRelease({ ...old.of, failure: 'x' }),
    acknowledge: () => worker.receiptAcknowledge(old.of),
    fail: () => worker.receiptEndAttempt({ ...old.of, state: 'failed', failure: 'x' }),
    clear: () => worker.receiptEndAttempt({ ...old.of, state: 'cleared', failure: 'x' }),
    ready: () => worker.agentReady(old.agent),
    say: () => worker.agentSay({ ...old.agent, kind: 'message', content: 'x', message_id: randomUUID() }),
    endTurn: () => worker.agentTurnEnd({ ...old.agent, turn_id: id }),
    endAgent: () => worker.agentEnd({ ...old.agent, failure: 'x' }),
  };
  async function expectAllLost(): Promise<void> {
    const before = await everything();
    for (const [name, call] of Object.entries(calls)) {
      expect([name, (await failure(call())).code]).toEqual([name, 'lease_lost']);
    }
    expect(await worker.agentsTend({ holder: 'frozen', tokens: [String(old.agent.token)] })).toEqual([]);
    expect(await everything()).toEqual(before);
  }

  await db.admin`update planledger.receipts set lease_expires_at = clock_timestamp() where task_id = ${task_id}`;
  await db.admin`update planledger.session_agents set lease_expires_at = clock_timestamp() where task_id = ${task_id}`;
  await expectAllLost();
  const next = await reserve('next');
  await expectAllLost();
  await worker.receiptMarkAttempted(next.of);
  await expectAllLost();
  await worker.receiptAcknowledge(next.of);
  await expectAllLost();
  await worker.agentTurnEnd({ ...next.agent, turn_id: id });
  await expectAllLost();
});
