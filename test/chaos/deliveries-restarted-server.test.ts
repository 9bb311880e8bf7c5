import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { openPool } from '../../src/postgres/connect.ts';
import { freshDatabase } from '../support/database.ts';
import { expectWhole, makeSessions } from './support/delivering.ts';
import { pick, startFleet } from './support/fleet.ts';
import { type OwnServer, startOwnServer } from './support/own-server.ts';
import { keepPrompting, ledgerService, toldNothing } from './support/prompting.ts';
import { startRecording } from './support/recording.ts';

let server: OwnServer;
let url: string;
beforeAll(async () => {
  server = await startOwnServer();
  url = await freshDatabase(server.url);
});
afterAll(async () => await server?.remove());

test('PostgreSQL restarted 200 times with prompts under way: none is doubled or lost, and no comment either', async () => {
  const [admin, app] = [openPool(url, { role: null, max: 2 }), openPool(url)];
  const recording = await startRecording(150);
  const told = toldNothing();
  const fleet = await startFleet({ admin, url, agents: recording.agents }, 2);
  const { principal, sessions } = await makeSessions(admin);
  const service = ledgerService(createLedger(app), principal);
  const underWay = new Set<string>();
  let restarts = 0;
  const over = () => restarts >= 200 && underWay.size >= 200;
  const clients = sessions.map((session) => keepPrompting(service, session, told, over));
  while (!over()) {
    await sleep(Math.random() * 1_000);
    const crashed = new Date();
    await server.crash(pick(['SIGQUIT', 'SIGKILL'] as const));
    await server.restart();
    restarts += 1;
    const rows = await admin<{ id: string }[]>`
      select id from planledger.receipts where created_at < ${crashed} and coalesce(ended_at > ${crashed}, true)`;
    for (const { id } of rows) underWay.add(id);
    await fleet.killStuck();
  }
  await Promise.all(clients);
  await expectWhole(admin, { fleet, recording, told });
  expect(told.interrupted).toBeGreaterThan(restarts);
  await Promise.all([admin.end(), app.end()]);
}, 900_000);
