/** Appends inside a transaction that it never ends, so that it holds the plan lock until somebody ends it. */
import { connect } from '../../../src/postgres/connect.ts';
import { configuration, listen, report } from './protocol.ts';

export interface HoldConfiguration {
  url: string;
  applicationName: string;
  principal: string;
  task: string;
  /** In milliseconds; what `connect` sets when absent. */
  idleTimeout?: number;
}

const { url, applicationName, principal, task, idleTimeout } = configuration<HoldConfiguration>();
const test = listen();
const sql = await connect(url, { max: 1, applicationName });
try {
  await sql.begin(async (transaction) => {
    if (idleTimeout !== undefined) {
      await transaction`select set_config('idle_in_transaction_session_timeout', ${String(idleTimeout)}, true)`;
    }
    await transaction`select * from planledger.plan_append(${principal}, ${task}, 'never committed')`;
    report('holding');
    await test.told('go on');
  });
  report('committed');
} catch {
  report('rolled back');
}
await sql.end();
process.exit(0);
