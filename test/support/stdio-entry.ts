import { pino } from 'pino';
import postgres from 'postgres';
import { createLedger } from '../../src/ledger/ledger.ts';
import { serveStdio } from '../../src/surfaces/mcp/stdio.ts';

// The smallest program around serveStdio: a pool that connects when it is first used, so that the database may be down.
const sql = postgres(process.env.DATABASE_URL ?? '', {
  max: 2,
  connect_timeout: 3,
  onnotice: () => {},
  connection: { role: 'planledger_app', application_name: 'test stdio' },
});
const logger = pino({ level: 'debug' }, pino.destination({ dest: 2, sync: true }));
await serveStdio({ ledger: createLedger(sql), token: process.env.PLANLEDGER_TOKEN ?? '', logger });
await sql.end({ timeout: 1 });
