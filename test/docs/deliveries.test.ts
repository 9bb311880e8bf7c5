import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { useDatabase } from '../support/fixture.ts';
import { executedBlocks, root } from './blocks.ts';
import { driverSession, hasPsql, psqlSession, type Session } from './sessions.ts';
import { statementsOf } from './statements.ts';

const page = 'docs/deliveries.md';
const clients: { client: string; open: (url: string) => Session | Promise<Session> }[] = [
  { client: 'the driver', open: driverSession },
  ...(hasPsql() ? [{ client: 'psql', open: psqlSession }] : []),
];

describe.each(clients)('deliveries with $client', ({ open }) => {
  const db = useDatabase();

  const states = async () => {
    const rows = await db.admin`
      select d.client_id, s.state from planledger.receipt_status s join planledger.deliveries d using (task_id, id)
      order by s.created_at`.values();
    return Object.fromEntries(rows);
  };
  const session = async () => (await db.admin`select state from planledger.task_sessions where id = 'talk'`)[0]?.state;

  /** That the constraint which the page names above a statement is what stops it. */
  async function stoppedBy(constraint: string): Promise<void> {
    const blocks = await executedBlocks(page, 'sql');
    const [, text = ''] = blocks.flatMap(({ text }) => text.match(new RegExp(`^-- ${constraint}\\n(.*?);`, 'm')) ?? []);
    await expect(db.admin.unsafe(text)).rejects.toMatchObject({ constraint_name: constraint });
  }

  /** Has a prompt of the session reserved, and answers the token. */
  async function reserved(client_message_id: string): Promise<string> {
    const worker = createLedger(db.admin);
    const [by] = await db.admin<{ id: string }[]>`select id from planledger.principals where display_name = 'Robin'`;
    const about = { principal: by?.id ?? '', task_id: 'prompts', session_id: 'talk' };
    const { id: receipt_id } = await worker.messageAdd({ ...about, client_message_id, content: 'x' });
    return await again(receipt_id);
  }

  async function again(receipt_id: string): Promise<string> {
    await db.admin`update planledger.receipts set not_before = '-infinity' where id = ${receipt_id}`;
    const worker = createLedger(db.admin);
    const { lease_token } = await worker.receiptReserve({ task_id: 'prompts', receipt_id, holder: 'test' });
    return lease_token ?? expect.unreachable('it was not reserved');
  }

  /** What nobody can type is so before these statements; each is prepared once. */
  const situations = new Map<string, () => Promise<void>>([
    [
      'receipt_retry(\n    (',
      async () => {
        const worker = createLedger(db.admin);
        let token = await reserved('third');
        const [row] = await db.admin<{ id: string }[]>`select id from planledger.receipts where state = 'reserved'`;
        for (let attempt = 1; ; attempt += 1) {
          await worker.receiptRelease({ task_id: 'prompts', token, failure: 'The agent is not there.' });
          if (attempt === 5) break;
          token = await again(row?.id ?? '');
        }
        expect(await states()).toMatchObject({ third: 'failed' });
        await db.admin`update planledger.task_sessions set state = 'RUNNING' where id = 'talk'`;
      },
    ],
    [
      'receipts_reconcile()',
      async () => {
        const [by] = await db.admin<
          { id: string }[]
        >`select id from planledger.principals where display_name = 'Robin'`;
        const worker = createLedger(db.admin);
        const on = { principal: by?.id ?? '', task_id: 'prompts', session_id: 'hook' };
        await worker.sessionCreate({ ...on, name: 'Hook', transport: 'webhook' });
        const { id: receipt_id } = await worker.messageAdd({ ...on, client_message_id: 'fourth', content: 'x' });
        await again(receipt_id);
        await db.admin`update planledger.receipts set lease_expires_at = 'epoch' where id = ${receipt_id}`;
        expect(await states()).toMatchObject({ fourth: 'reserved' });
      },
    ],
  ]);

  /** What the page promises of a statement, by a part of its text; each is looked at once. */
  const effects = new Map<string, () => Promise<void>>([
    ["'first', 'Hello')", async () => expect(await states()).toEqual({ first: 'pending' })],
    ['receipt_reserve(', async () => expect(await states()).toEqual({ first: 'reserved' })],
    ['receipt_mark_attempted(', async () => expect(await states()).toEqual({ first: 'attempted' })],
    ['receipt_acknowledge(', async () => expect(await states()).toEqual({ first: 'acknowledged' })],
    [
      'receipt_end_attempt(',
      async () => {
        expect(await states()).toEqual({ first: 'acknowledged', second: 'cleared' });
        expect(await session()).toBe('WAITING_FOR_INPUT');
      },
    ],
    ['receipt_retry(\n    (', async () => expect(await states()).toMatchObject({ third: 'pending' })],
    [
      'receipt_dismiss(',
      async () =>
        expect(await db.admin`select from planledger.receipts where dismissed_at is not null`).toHaveLength(1),
    ],
    // The prompt that was to be tried again has it now.
    ["'The program was gone.'", async () => expect(await session()).toBe('RUNNING')],
    [
      'session_close(',
      async () => {
        expect(await session()).toBe('COMPLETED');
        expect(await states()).toMatchObject({ third: 'failed' });
      },
    ],
    [
      'receipts_reconcile()',
      async () => {
        expect(await states()).toMatchObject({ fourth: 'pending' });
        const [job] = await db.admin`select from planledger_jobs.jobs where task_identifier = 'deliver_receipt'`;
        expect(job).toBeDefined();
      },
    ],
    ["set state = 'pending' where", () => stoppedBy('an_attempt_is_never_taken_back')],
    ['set ended_at = null', () => stoppedBy('ended_when_it_ended')],
    ["set state = 'attempted'", () => stoppedBy('a_lease_where_one_is_held')],
    ["set state = 'ASLEEP'", () => stoppedBy('session_state_known')],
    [
      'delete from planledger.workspaces',
      async () => expect(await db.admin`select from planledger.receipts`).toEqual([]),
    ],
  ]);

  async function once(all: Map<string, () => Promise<void>>, statement: string): Promise<void> {
    for (const [part, look] of all) {
      if (!statement.includes(part)) continue;
      all.delete(part);
      await look();
    }
  }

  test('every statement does what the page says, in the order of the page', async () => {
    const run = await open(db.url);
    onTestFinished(() => run.close());
    const statements = (await executedBlocks(page, 'sql')).flatMap(statementsOf);
    expect(statements.length).toBeGreaterThan(30);
    for (const { place, text, refusal } of statements) {
      await once(situations, text);
      expect(await run.run(text), `${place}: ${text}`).toBe(refusal);
      await once(effects, text);
    }
    expect([situations.size, effects.size], 'situations and effects that no statement had').toEqual([0, 0]);
  });
});

test('every state has its section, and no other has', async () => {
  const text = await readFile(path.join(root, page), 'utf8');
  const sections = [...text.matchAll(/^### (.*)$/gm)].map(([, heading]) => heading);
  expect(sections).toEqual([
    ...['pending', 'reserved', 'attempted', 'acknowledged', 'cleared', 'failed'],
    ...['CREATED', 'STARTING', 'WAITING_FOR_INPUT', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'],
  ]);
});
