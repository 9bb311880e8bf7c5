import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useDatabase } from '../support/fixture.ts';
import { expectWhole, makeSessions } from './support/delivering.ts';
import { startFleet } from './support/fleet.ts';
import { keepPrompting, ledgerService, toldNothing } from './support/prompting.ts';
import { startRecording } from './support/recording.ts';

const db = useDatabase();

test('workers killed 200 times at random points: of all prompts none is doubled or lost, and no comment either', async () => {
  const recording = await startRecording(150);
  const told = toldNothing();
  const fleet = await startFleet({ ...db, agents: recording.agents }, 6);
  const { principal, sessions } = await makeSessions(db.admin);
  const service = ledgerService(db.ledger, principal);
  const over = () => fleet.killed.all >= 200 && told.accepted.size >= 200;
  const clients = sessions.map((session) => keepPrompting(service, session, told, over));
  const killers = Array.from({ length: 3 }, async () => {
    while (!over()) {
      await sleep(Math.random() * 400);
      await fleet.kill();
    }
  });
  await Promise.all([...killers, ...clients]);
  await expectWhole(db.admin, { fleet, recording, told });
  expect(fleet.killed.reserved).toBeGreaterThan(0);
  expect(fleet.killed.attempted).toBeGreaterThan(0);
}, 600_000);
