/**
 * Appends numbered fragments to tasks in turn, one call after another, from when the test says `go` until `count` or
 * `stop`. Reports `acknowledged` with the acknowledgement, or `failed` with the code; a fragment whose fate is unknown
 * is never sent again, one that certainly was not written is.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { PlanledgerError } from '../../../src/ledger/errors.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { connect } from '../../../src/postgres/connect.ts';
import { configuration, listen, report } from './protocol.ts';

export interface AppendConfiguration {
  url: string;
  applicationName: string;
  principal: string;
  tasks: string[];
  count: number;
}

const { url, applicationName, principal, tasks, count } = configuration<AppendConfiguration>();
const test = listen();
const sql = await connect(url, { max: 1, applicationName });
const ledger = createLedger(sql);
report('ready');
await test.told('go');
for (let number = 0; number < count && !test.heard('stop'); ) {
  const fragment = `${applicationName} ${number}`;
  const task = tasks[number % tasks.length] ?? '';
  try {
    const answer = await ledger.planAppend({ principal, task_id: task, fragment });
    report('acknowledged', { fragment, task, answer });
    number += 1;
  } catch (error) {
    if (!(error instanceof PlanledgerError)) throw error;
    report('failed', { fragment, task, code: error.code, error });
    if (error.writeApplied === 'unknown') number += 1;
    await delay(50);
  }
}
report('done');
await sql.end();
process.exit(0);
