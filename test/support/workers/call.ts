/**
 * Makes ledger calls at the same time, each on a connection of its own, as soon as the test says `go`; reports
 * `answered` or `refused` for each, and ends.
 */
import { PlanledgerError } from '../../../src/ledger/errors.ts';
import type { Ledger } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { configuration, listen, report } from './protocol.ts';

export interface CallConfiguration {
  url: string;
  applicationName: string;
  calls: [method: keyof Ledger, values: Record<string, unknown>][];
}

const { url, applicationName, calls } = configuration<CallConfiguration>();
const test = listen();
const sql = await connect(url, { max: calls.length, applicationName });
const ledger = createLedger(sql) as unknown as Record<string, (values: Record<string, unknown>) => Promise<unknown>>;
report('ready');
await test.told('go');
await Promise.all(
  calls.map(async ([method, values]) => {
    try {
      report('answered', { method, answer: await ledger[method]?.(values) });
    } catch (error) {
      if (!(error instanceof PlanledgerError)) throw error;
      report('refused', { method, error });
    }
  }),
);
await sql.end();
process.exit(0);
