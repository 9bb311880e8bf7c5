/** Serves HTTP until the test says `stop`; reports `listening` with its URL. Hints of other processes may be off. */
import { pino } from 'pino';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { buildHttpServer } from '../../../src/surfaces/http/server.ts';
import { configuration, listen, report } from './protocol.ts';

export interface GatewayConfiguration {
  url: string;
  applicationName: string;
  hints: boolean;
  /** Any when absent. */
  port?: number | undefined;
}

const { url, applicationName, hints, port = 0 } = configuration<GatewayConfiguration>();
const test = listen();
const sql = await connect(url, { applicationName });
const readers = await connect(url, { max: 4, applicationName: `${applicationName}, reading` });
const logger = pino({ level: 'warn' }, pino.destination({ dest: 2, sync: true }));
const server = await buildHttpServer({ sql, readers, ledger: createLedger(sql, readers), logger, feed: { hints } });
report('listening', { url: await server.listen({ host: '127.0.0.1', port }) });
await test.told('stop');
await server.close();
process.exit(0);
