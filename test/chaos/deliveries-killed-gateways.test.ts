import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openClient } from '../../src/client/index.ts';
import { useDatabase } from '../support/fixture.ts';
import { tokenFor } from '../surfaces/mcp/clients.ts';
import { expectWhole, makeSessions } from './support/delivering.ts';
import { pick, startFleet } from './support/fleet.ts';
import { startWorker, type Worker } from './support/processes.ts';
import { gatewayService, keepPrompting, toldNothing } from './support/prompting.ts';
import { startRecording } from './support/recording.ts';

const db = useDatabase();

/** A gateway that comes back at its address after each kill: one that the system gives to nobody else meanwhile. */
async function startGateway() {
  const port = 20_000 + Math.floor(Math.random() * 10_000);
  const start = async () => {
    const gateway: Worker = startWorker('gateway', { url: db.url, applicationName: 'gateway', hints: true, port });
    await gateway.until('listening');
    return gateway;
  };
  let gateway = await start();
  const { host } = new URL(gateway.of('listening')[0]?.url ?? '');
  return {
    address: `ws://${host}/ws`,
    async kill() {
      gateway.kill();
      await gateway.ended;
      gateway = await start();
    },
  };
}

test('gateways killed 200 times while clients send: what is repeated until it is answered goes out once, with its comments', async () => {
  const recording = await startRecording(50);
  const told = toldNothing();
  const fleet = await startFleet({ ...db, agents: recording.agents }, 1);
  const { principal, sessions } = await makeSessions(db.admin);
  const { token } = await tokenFor(db, principal);
  const gateways = await Promise.all([startGateway(), startGateway(), startGateway()]);
  let killed = 0;
  const over = () => killed >= 200 && told.accepted.size >= 200;
  const clients = sessions.map(async (session, index) => {
    const client = openClient({ url: gateways[index % gateways.length]?.address ?? '', token });
    onTestFinished(() => client.close());
    await keepPrompting(gatewayService(client), session, told, over, 50);
  });
  while (!over()) {
    await sleep(Math.random() * 400);
    await pick(gateways).kill();
    killed += 1;
  }
  await Promise.all(clients);
  await expectWhole(db.admin, { fleet, recording, told });
  expect(told.interrupted).toBeGreaterThan(killed / 2);
  expect(told.replayed).toBeGreaterThan(0);
}, 600_000);
