import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Ledger } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { holdPlanLock, untilWaiting } from '../chaos/support/locks.ts';
import { type OwnServer, startOwnServer } from '../chaos/support/own-server.ts';
import { failure } from '../sql/observe.ts';
import { freshDatabase } from '../support/database.ts';

const marker = 'Marker9f3c';
const text = `${marker} text of a plan\n\n- [ ] ${marker}\n`;
const long = `${text}${'x'.repeat(3000)} ${marker}`;
let server: OwnServer;
let admin: Sql;
let app: Sql;
let ledger: Ledger;
let administrator: Ledger;
beforeAll(async () => {
  server = await startOwnServer();
  const url = await freshDatabase(server.url);
  admin = await connect(url, { role: null, max: 4 });
  app = await connect(url, { max: 1, applicationName: 'logged' });
  ledger = createLedger(app);
  administrator = createLedger(admin);
  await administrator.workspaceCreate({ name: 'Log', workspace_id: 'w' });
});
afterAll(async () => {
  await Promise.all([admin?.end({ timeout: 1 }), app?.end({ timeout: 1 })]);
  await server?.remove();
});

let tasks = 0;
/** A task with a plan of `content`, and who may write it. */
async function makePlan(content = text) {
  const { id: user } = await administrator.principalCreate({ workspace_id: 'w', kind: 'user' });
  const { id: principal } = await administrator.principalCreate({ workspace_id: 'w', kind: 'service' });
  tasks += 1;
  const task_id = `task ${tasks}`;
  await ledger.taskCreate({ principal: user, task_id, title: 'Task' });
  const on = { principal, task_id };
  const created = await ledger.planCreate({ ...on, content, title: `${marker} title` });
  return { ...on, on, user, created, expected_version: created.version };
}

/** Calls that are refused while another holds the lock; `meanwhile` happens once they wait. */
async function whileLocked(task: string, call: () => Promise<unknown>, meanwhile: (pid: number) => Promise<unknown>) {
  const release = await holdPlanLock(admin, task);
  const refused = failure(call());
  const [pid] = await untilWaiting(admin, 'logged');
  await meanwhile(pid ?? 0);
  await release();
  return await refused;
}

async function provokeArgumentRefusals(): Promise<void> {
  const { on, user, expected_version } = await makePlan();
  const tooLong = `${marker} `.repeat(30);
  await failure(ledger.planAppend({ ...on, fragment: text, title: tooLong }));
  await failure(ledger.planCreate({ ...on, content: text, title: tooLong }));
  await failure(ledger.planReplace({ ...on, content: text, policy: marker }));
  await failure(ledger.planReplace({ ...on, content: text, policy: 'browser' }));
  await failure(ledger.planEdit({ ...on, old_text: text, new_text: null, expected_version }));
  await failure(ledger.planEdit({ ...on, old_text: '', new_text: text, expected_version }));
  await failure(ledger.planAppend({ ...on, fragment: '' }));
  await failure(ledger.planAppend({ ...on, fragment: text, allow_truncation: true }));
  await failure(ledger.planReplace({ ...on, content: text.repeat(10_000), expected_version }));
  await failure(ledger.planAppend({ ...on, fragment: text.repeat(10_000) }));
  await failure(ledger.planAppend({ ...on, task_id: 'elsewhere', fragment: text }));
  await failure(ledger.taskCreate({ principal: user, task_id: 'new', title: tooLong }));
  const comment = { ...on, plan_id: expected_version, comment_id: randomUUID(), anchor_from: 0, anchor_to: 1 };
  await failure(ledger.commentCreate({ ...comment, body: text.repeat(10_000), selected_text: text }));
  await failure(ledger.commentCreate({ ...comment, body: text, selected_text: text.repeat(10_000) }));
  await failure(ledger.commentCreate({ ...comment, body: text, selected_text: text }));
  await failure(ledger.tokenAuthenticate({ token_sha256: Buffer.alloc(32) }));
}

async function provokeStateRefusals(): Promise<void> {
  const { on, user, created, expected_version } = await makePlan(long);
  const comment = { ...on, plan_id: created.plan_id, comment_id: randomUUID(), anchor_from: 0, anchor_to: 1 };
  await ledger.commentCreate({ ...comment, body: text, selected_text: text });
  await failure(ledger.commentCreate({ ...comment, body: `${text}!`, selected_text: text }));
  await failure(ledger.commentUpdate({ ...comment, body: text, expected_version: 2 }));
  const big = () => ({ ...comment, comment_id: randomUUID(), body: text, selected_text: `${marker} `.repeat(20_000) });
  for (let n = 0; n < 4; n += 1) await ledger.commentCreate(big());
  await failure(ledger.commentCreate(big()));
  await failure(ledger.sessionClose({ ...on, principal: user, session_id: 'absent' }));
  const { id: session_id } = await ledger.sessionCreate({ ...on, principal: user, name: 'logged' });
  await ledger.sessionClose({ ...on, principal: user, session_id });
  await failure(ledger.sessionSetState({ ...on, principal: user, session_id, state: 'RUNNING', failure: text }));
  const revision_id = created.revision_id;
  await failure(ledger.planReplace({ ...on, content: text }));
  await failure(ledger.planReplace({ ...on, content: text, expected_version: marker }));
  await failure(ledger.planReplace({ ...on, content: text, expected_version }));
  await failure(ledger.planEdit({ ...on, old_text: `${marker} absent`, new_text: text, expected_version }));
  await failure(ledger.planEdit({ ...on, old_text: marker, new_text: text, expected_version }));
  await failure(ledger.planEdit({ ...on, old_text: long, new_text: marker, expected_version }));
  await failure(ledger.revisionGet({ ...on, revision_id: 'no such revision' }));
  const restore = { ...on, revision_id, expected_version };
  await failure(ledger.planRestore({ ...restore, expected_revision_version: '' }));
  await failure(ledger.planRestore({ ...restore, expected_revision_version: 'another' }));
  await ledger.planAppend({ ...on, fragment: text, request_id: 'r' });
  await failure(ledger.planAppend({ ...on, fragment: `${text}!`, request_id: 'r' }));
  await ledger.planDelete(on);
  await failure(ledger.planAppend({ ...on, fragment: text }));
  await failure(ledger.planRevert({ ...on, principal: user, revision_id: 'no such revision' }));
  for (const level of ['repeatable read', 'serializable']) {
    const inside = app.begin(`isolation level ${level}`, (transaction) =>
      transaction.unsafe('select planledger.plan_append($1, $2, $3)', [on.principal, on.task_id, text]),
    );
    await expect(inside).rejects.toMatchObject({ code: 'TP409' });
  }
}

/** What is refused of prompts, and what workers are refused. */
async function provokeDeliveryRefusals(): Promise<void> {
  const { on, user, task_id } = await makePlan();
  const by = { ...on, principal: user };
  const make = (session_id: string) => ledger.sessionCreate({ ...by, name: session_id, session_id });
  for (const session_id of ['logged', 'other']) await make(session_id);
  const message = { ...by, session_id: 'other', client_message_id: 'm', content: text };
  await failure(ledger.messageAdd(message));
  await failure(ledger.messageAdd({ ...message, require_primary_session: true }));
  const queued = { ...by, session_id: 'logged', content: text };
  await failure(ledger.queueAdd({ ...queued, client_queue_id: 'big', content: text.repeat(100_000) }));
  await failure(ledger.queueAdd({ ...queued, client_queue_id: 'file', attachments: [randomUUID()] }));
  for (let n = 0; n < 11; n += 1) await ledger.queueAdd({ ...queued, client_queue_id: `q${n}` }).catch(() => {});
  await failure(ledger.queueUpdate({ ...queued, entry_id: randomUUID() }));
  await failure(ledger.queueReorder({ ...by, session_id: 'logged', entry_ids: [] }));
  await failure(ledger.queueAdd({ ...queued, client_queue_id: 'lease', lease: '999999' }));
  await failure(administrator.receiptAcknowledge({ task_id, token: randomUUID() }));
}

async function provokeWaits(): Promise<void> {
  const { on, task_id } = await makePlan();
  const append = () => ledger.planAppend({ ...on, fragment: text, title: `${marker} title` });
  await whileLocked(task_id, append, (pid) => admin`select pg_cancel_backend(${pid})`);
  await whileLocked(task_id, append, (pid) => admin`select pg_terminate_backend(${pid})`);
  await append().catch(() => {}); // the driver may tell one more call of the ended connection
  await administrator.settingsChange({ lock_wait: '200 milliseconds' });
  await whileLocked(task_id, append, () => new Promise((resolve) => setTimeout(resolve, 400)));
  await administrator.settingsChange({ lock_wait: '15 seconds' });
  await whileLocked(task_id, append, () => admin`delete from planledger.tasks where id = ${task_id}`);
}

/** Storage that somebody damaged: what each failure means goes to the log, and the text it concerns does not. */
async function provokeDamage(): Promise<void> {
  const { on, task_id, created, expected_version } = await makePlan(long);
  const shorter = { ...on, content: text, expected_version, allow_truncation: true };
  await admin`update planledger.plan_segments set body = body || ${marker} where task_id = ${task_id}`;
  await failure(ledger.planGet(on));
  await failure(ledger.revisionGet({ ...on, revision_id: created.revision_id }));
  await failure(ledger.planReplace(shorter));
  await admin`revoke select on planledger.plan_segments from planledger_owner`;
  await failure(ledger.planGet(on));
  await failure(ledger.planReplace(shorter));
  await admin`grant select on planledger.plan_segments to planledger_owner`;
  await admin`revoke insert on planledger.plan_segments from planledger_owner`;
  await failure(ledger.planAppend({ ...on, fragment: text }));
  await admin`grant insert on planledger.plan_segments to planledger_owner`;
  await admin`alter table planledger.events add constraint none_today check (xid is null) not valid`;
  await failure(ledger.planAppend({ ...on, fragment: text }));
  await admin`alter table planledger.events drop constraint none_today`;
}

/** A backend that dies of a signal takes the server through recovery, and its statement into the log. */
async function provokeCrash(): Promise<void> {
  const { on, task_id } = await makePlan();
  const release = await holdPlanLock(admin, task_id);
  const lost = failure(ledger.planAppend({ ...on, fragment: text, title: `${marker} title` }));
  const [pid] = await untilWaiting(admin, 'logged');
  process.kill(pid ?? 0, 'SIGKILL');
  await lost;
  await release().catch(() => {}); // its connection went with the server
  await vi.waitFor(
    async () => {
      const afterwards = (await readFile(server.log, 'utf8')).split('was terminated by signal 9')[1];
      expect(afterwards).toContain('ready to accept connections');
    },
    { timeout: 30_000, interval: 100 },
  );
}

test('no refusal and no failure of any kind brings text of a plan, fragment or title into the log of the server', async () => {
  await provokeArgumentRefusals();
  await provokeStateRefusals();
  await provokeDeliveryRefusals();
  await provokeWaits();
  await provokeDamage();
  const codes = (await ledger.errorCatalog({})).map(({ code }) => code);
  await provokeCrash();

  const leaks: string[] = [];
  const seen = new Set<string>();
  let log = '';
  for await (const line of createInterface({ input: createReadStream(server.log) })) {
    if (line.includes(marker)) leaks.push(line);
    for (const [, code] of line.matchAll(/"code": "(\w+)"/g)) seen.add(code ?? '');
    log = (log + line).slice(-100_000);
  }
  expect(leaks).toEqual([]);
  // The log is the right one, and everything that can be refused was.
  expect([...seen].sort()).toEqual(codes.sort());
  expect(log).toContain('canceling statement due to user request');
  expect(log).toContain('do not make the recorded');
  expect(log).toContain('permission denied for table plan_segments');
  expect(log).toContain('violates check constraint "none_today"');
  expect(log).toContain('was terminated by signal 9');
});
