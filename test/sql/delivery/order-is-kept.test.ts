import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { untilWaiting } from '../../chaos/support/locks.ts';
import { useDatabase } from '../../support/fixture.ts';
import { makeSession, useWorker } from '../deliveries.ts';

const db = useDatabase();
const worker = useWorker(db);

test('an entry that a worker had comes back to its place, however the others were moved meanwhile', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { on, task, queue } = await makeSession(db, 'webhook', 'WAITING_FOR_INPUT');
    const ids = [];
    for (const name of ['a', 'b', 'c', 'd']) ids.push(await queue(name));
    const [a = '', b = '', c = '', d = ''] = ids;
    const { lease_token } = await worker.ledger.receiptReserve({ task_id: task, receipt_id: a, holder: 'test' });
    await db.ledger.queueReorder({ ...on, entry_ids: [d, b, c] });
    await worker.ledger.receiptRelease({ task_id: task, token: String(lease_token), failure: 'no' });
    expect((await db.ledger.queueGet(on)).entries.map(({ content }) => content)).toEqual(['a', 'd', 'b', 'c']);
    await db.ledger.queueReorder({ ...on, entry_ids: [c, a, d, b] });
    expect((await db.ledger.queueGet(on)).entries.map(({ content }) => content)).toEqual(['c', 'a', 'd', 'b']);
  }
});

test('whoever reads a transcript on from its last row misses none: what is written later stands later', async () => {
  const { on, task, send } = await makeSession(db, 'acp', 'WAITING_FOR_INPUT');
  const receipt_id = await send('first', 'first');
  const { lease_token, agent_token } = await worker.ledger.receiptReserve({
    task_id: task,
    receipt_id,
    holder: 'test',
  });
  await worker.ledger.receiptMarkAttempted({ task_id: task, token: String(lease_token) });
  await worker.ledger.receiptAcknowledge({ task_id: task, token: String(lease_token) });
  const agent = { task_id: task, token: String(agent_token) };
  const sql = await connect(db.url, { max: 1, applicationName: 'says later' });
  const others = createLedger(sql);
  let later: Promise<unknown> = Promise.resolve();
  await worker.sql.begin(async (transaction) => {
    const said = { ...agent, kind: 'message', content: 'slow', message_id: randomUUID() };
    await createLedger(transaction).agentSay(said);
    later = others.sessionSetState({ ...on, state: 'WAITING_FOR_INPUT' }).then(() =>
      others.messageAdd({
        ...{ ...on, client_message_id: 'second', content: 'second' },
      }),
    );
    await untilWaiting(db.admin, 'says later');
    expect((await db.ledger.messageList(on)).map(({ content }) => content)).toEqual(['first']);
  });
  await later;
  expect((await db.ledger.messageList(on)).map(({ content }) => content)).toEqual(['first', 'slow', 'second']);
  await sql.end();
});
