import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { useDatabase } from '../support/fixture.ts';
import { expectWhole, makeSessions } from './support/delivering.ts';
import { startFleet } from './support/fleet.ts';
import { keepPrompting, ledgerService, toldNothing } from './support/prompting.ts';
import { startRecording } from './support/recording.ts';

const db = useDatabase();

test('connections cut at random: of 200 prompts and more none is doubled or lost, and no comment either', async () => {
  const recording = await startRecording(150);
  const told = toldNothing();
  const fleet = await startFleet({ ...db, agents: recording.agents }, 2);
  const { principal, sessions } = await makeSessions(db.admin);
  const service = ledgerService(db.ledger, principal);
  let cut = 0;
  const over = () => cut >= 300 && told.accepted.size >= 200;
  const clients = sessions.map((session) => keepPrompting(service, session, told, over));
  while (!over()) {
    await sleep(Math.random() * 150);
    const rows = await db.admin`
      select pg_terminate_backend(pid) from (
        select pid from pg_stat_activity
        where datname = current_database() and application_name <> 'test admin' order by random() limit 2) victims`;
    cut += rows.length;
    if (cut % 20 === 0) await fleet.killStuck();
  }
  await Promise.all(clients);
  await expectWhole(db.admin, { fleet, recording, told });
  expect(told.interrupted).toBeGreaterThan(0);
  expect(fleet.killed.all).toBeGreaterThan(0); // workers lost answers too
}, 240_000);
