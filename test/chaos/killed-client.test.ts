import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { stored } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';
import { backendsAlive, holdPlanLock, untilWaiting } from './support/locks.ts';
import { startWorker } from './support/processes.ts';

const db = useDatabase();

// Without client_connection_check_interval PostgreSQL looks for its client only when it has something to send, and each
// of these calls would be carried out after the lock is free.
test('a client killed 2 s before the lock its writes wait for is released writes nothing afterwards', async () => {
  const { task, agent, user } = await makeCast(db);
  const { revision_id } = await db.ledger.planCreate({ principal: agent, task_id: task, content: 'one\n' });
  const { version } = await db.ledger.planAppend({ principal: agent, task_id: task, fragment: 'two' });
  const revision = await db.ledger.revisionGet({ principal: agent, task_id: task, revision_id });
  const before = await stored(db, task);

  const release = await holdPlanLock(db.admin, task);
  const on = { principal: agent, task_id: task };
  const client = startWorker('call', {
    url: db.url,
    applicationName: 'killed',
    calls: [
      ['planAppend', { ...on, fragment: 'from the dead' }],
      ['planAppend', { ...on, fragment: 'from the dead, once', request_id: 'r' }],
      ['planCreate', { ...on, content: 'from the dead', expected_version: version }],
      ['planReplace', { ...on, content: 'from the dead', expected_version: version }],
      ['planReplace', { ...on, principal: user, content: 'from the dead', policy: 'browser' }],
      ['planEdit', { ...on, old_text: 'one', new_text: 'dead', expected_version: version }],
      [
        'planRestore',
        { ...on, revision_id, expected_version: version, expected_revision_version: revision.revision_version },
      ],
      ['planRevert', { ...on, principal: user, revision_id }],
      ['planDelete', on],
      ['taskArchive', on],
      ['taskDelete', on],
    ],
  });
  await client.until('ready');
  client.tell('go');
  const pids = await untilWaiting(db.admin, 'killed', 11);
  client.kill();
  await client.ended;
  await delay(2000);
  expect(await backendsAlive(db.admin, pids)).toEqual([]);
  await release();
  await delay(200);

  expect(client.of('answered')).toEqual([]);
  expect(await stored(db, task)).toEqual(before);
  await db.ledger.planAppend({ principal: agent, task_id: task, fragment: 'from the living' });
  expect((await db.ledger.planGet({ principal: agent, task_id: task }))?.content).toBe('one\n\ntwo\n\nfrom the living');
});

test('a killed client that waits in the middle of the queue does not hold up those behind it', async () => {
  const { task, agent } = await makeCast(db);
  await db.ledger.planCreate({ principal: agent, task_id: task, content: 'start' });
  const release = await holdPlanLock(db.admin, task);
  const append = (fragment: string) => db.ledger.planAppend({ principal: agent, task_id: task, fragment });
  const first = append('first');
  await untilWaiting(db.admin, 'test app', 1);
  const client = startWorker('call', {
    url: db.url,
    applicationName: 'killed in the queue',
    calls: [['planAppend', { principal: agent, task_id: task, fragment: 'from the dead' }]],
  });
  await client.until('ready');
  client.tell('go');
  const pids = await untilWaiting(db.admin, 'killed in the queue');
  const last = append('last');
  await untilWaiting(db.admin, 'test app', 2);
  client.kill();
  await delay(2000);
  expect(await backendsAlive(db.admin, pids)).toEqual([]);
  await release();
  await Promise.all([first, last]);
  expect((await db.ledger.planGet({ principal: agent, task_id: task }))?.content).toBe('start\n\nfirst\n\nlast');
});
