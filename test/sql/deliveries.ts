import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Ledger, Session } from '../../src/ledger/generated.ts';
import { createLedger } from '../../src/ledger/ledger.ts';
import { connect, type Sql } from '../../src/postgres/connect.ts';
import { type Fixture, makeCast } from '../support/fixture.ts';

/** The facade as workers call it. */
export interface Worker {
  ledger: Ledger;
  sql: Sql;
}

/** Call at the top of a test file, behind `useDatabase`. */
export function useWorker(db: Fixture): Worker {
  const worker = {} as Worker;
  beforeAll(async () => {
    worker.sql = await connect(db.url, { role: 'planledger_worker', max: 4, applicationName: 'test worker' });
    worker.ledger = createLedger(worker.sql);
  });
  afterAll(() => worker.sql?.end({ timeout: 5 }));
  return worker;
}

/** A task of its own with the session `s`, in `state` where one is named. */
export async function makeSession(db: Fixture, transport: string | null, state?: string) {
  const { admin, ledger } = db;
  const cast = await makeCast(db);
  const by = { principal: cast.user, task_id: cast.task };
  const on = { ...by, session_id: 's' };
  await ledger.sessionCreate({ ...on, name: 'S', agent_name: 'claude', transport });
  if (state !== undefined) await ledger.sessionSetState({ ...on, state });
  const task = cast.task;
  return {
    ...{ cast, by, on, task },
    async session(): Promise<Session> {
      const found = (await ledger.sessionList(by)).find(({ id }) => id === 's');
      return found ?? expect.unreachable('the session is gone');
    },
    /** The id of a direct message that was accepted. */
    async send(client_message_id = 'm', content = 'go'): Promise<string> {
      return (await ledger.messageAdd({ ...on, client_message_id, content })).id;
    },
    /** The id of an entry that was added to the queue. */
    async queue(client_queue_id: string, content = client_queue_id): Promise<string> {
      return (await ledger.queueAdd({ ...on, client_queue_id, content })).id;
    },
    async receipt(id: string) {
      const [row] = await admin`
        select state, attempts, failure, dispatch_id, lease_holder from planledger.receipts where task_id = ${task} and id = ${id}`;
      return row ?? expect.unreachable('the receipt is gone');
    },
    /** The lease on the agent, as it is stored. */
    async lease() {
      const [row] = await admin<{ holder: string; lease_token: string; left: number }[]>`
        select holder, lease_token, extract(epoch from lease_expires_at - clock_timestamp())::float8 as left
        from planledger.session_agents where task_id = ${task}`;
      return row;
    },
    /** What the transcript has, without what nobody chose. */
    async transcript() {
      const rows = await ledger.messageList({ ...on, limit: 1000 });
      return rows.map(({ role, kind, content, author_name }) => ({ role, kind, content, author_name }));
    },
    /** The jobs of workers about this task, and in how many seconds each is due. */
    async jobs() {
      return await admin<{ task: string; key: string | null; due: number }[]>`
        select j.task_identifier as task, j.key, extract(epoch from j.run_at - clock_timestamp())::float8 as due
        from planledger_jobs.jobs j join planledger_jobs._private_jobs p using (id)
        where p.payload ->> 'task_id' = ${task} order by j.id`;
    },
    /** As if a worker had died: its lease on the agent has ended. */
    async expireAgent() {
      await admin`update planledger.session_agents set lease_expires_at = clock_timestamp() - interval '1 second'
        where task_id = ${task}`;
    },
    /** As if a worker had died: its lease on the receipts has ended. */
    async expireReceipts() {
      await admin`update planledger.receipts set lease_expires_at = clock_timestamp() - interval '1 second'
        where task_id = ${task} and lease_token is not null`;
    },
    /** As if the time until the next try were over. */
    async wait() {
      await admin`update planledger.receipts set not_before = '-infinity' where task_id = ${task}`;
    },
  };
}

export type Setting = Awaited<ReturnType<typeof makeSession>>;

/** A token that nobody has been given. */
export const nobody: string = randomUUID();

/** Everything stored about the sessions of a task; what a refused call must leave exactly as it was. */
export async function storedDelivery({ admin }: Fixture, task: string): Promise<unknown> {
  const [row] = await admin`
    select
      (select jsonb_agg(s order by s.id) from planledger.task_sessions s where s.task_id = ${task}) as sessions,
      (select jsonb_agg(a) from planledger.session_agents a where a.task_id = ${task}) as agents,
      (select jsonb_agg(d order by d.id) from planledger.deliveries d where d.task_id = ${task}) as deliveries,
      (select jsonb_agg(r order by r.id) from planledger.receipts r where r.task_id = ${task}) as receipts,
      (select jsonb_agg(q order by q.id) from planledger.queue_entries q where q.task_id = ${task}) as entries,
      (select jsonb_agg(m order by m.position) from planledger.session_messages m where m.task_id = ${task}) as messages,
      (select jsonb_agg(array[a.id::text, a.delivery_id::text] order by a.id) from planledger.attachments a where a.task_id = ${task}) as files,
      (select jsonb_agg(e order by e.id) from planledger.events e where e.task_id = ${task}) as events`;
  return row;
}
