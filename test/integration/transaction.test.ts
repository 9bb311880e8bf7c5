import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Ledger } from '../../src/ledger/generated.ts';
import { inTransaction, type Transaction } from '../../src/ledger/ledger.ts';
import { openPool } from '../../src/postgres/connect.ts';
import { failure } from '../sql/observe.ts';
import { makeCast, useDatabase } from '../support/fixture.ts';

const db = useDatabase();

/** A plan, and a way to run transactions on connections that can be cut. */
async function setting() {
  const { user, task } = await makeCast(db);
  const by = { principal: user, task_id: task };
  await db.ledger.planCreate({ ...by, content: 'start' });
  const sql = openPool(db.url, { applicationName: 'cut', max: 1 });
  onTestFinished(() => sql.end({ timeout: 1 }));
  const cut = () =>
    db.admin`select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'cut'`;
  const run = <T>(work: (transaction: Transaction) => Promise<T>) =>
    inTransaction(sql, new AbortController().signal, work);
  const append = (ledger: Ledger, fragment: string) => ledger.planAppend({ ...by, fragment });
  const content = async () => (await db.ledger.planGet(by))?.content;
  return { run, cut, append, content };
}

test('several calls succeed or fail together', async () => {
  const { run, append, content } = await setting();
  await run(async ({ ledger }) => {
    await append(ledger, 'one');
    await append(ledger, 'two');
  });
  expect(await content()).toBe('start\n\none\n\ntwo');
  const error = new Error('no');
  const failed = run(async ({ ledger }) => {
    await append(ledger, 'three');
    throw error;
  });
  await expect(failed).rejects.toBe(error);
  expect(await content()).toBe('start\n\none\n\ntwo');
});

test('what is rehearsed is answered and taken back, and the transaction goes on', async () => {
  const { run, append, content } = await setting();
  const refused: unknown[] = [];
  const rehearsed = await run(async ({ ledger, rehearse }) => {
    const answer = await rehearse((inner) => append(inner, 'rehearsed'));
    refused.push(await failure(rehearse((inner) => append(inner, ''))));
    await append(ledger, 'real');
    return answer;
  });
  expect(rehearsed).toMatchObject({ outcome: 'appended', revision_number: 1 });
  expect(refused).toMatchObject([{ code: 'plan_content_required' }]);
  expect(await content()).toBe('start\n\nreal');
});

// What the driver does at the end of such a transaction would end the whole process, and with it this run.
test.each<
  [
    when: string,
    work: (
      cut: () => Promise<unknown>,
      append: (ledger: Ledger) => Promise<unknown>,
      transaction: Transaction,
    ) => Promise<unknown>,
  ]
>([
  [
    'between two calls',
    async (cut, append, { ledger }) => {
      await append(ledger);
      await cut();
      await append(ledger);
    },
  ],
  [
    'before an error',
    async (cut, append, { ledger }) => {
      await append(ledger);
      await cut();
      throw new Error('something else');
    },
  ],
  [
    'before its end',
    async (cut, append, { ledger }) => {
      await append(ledger);
      await cut();
    },
  ],
  [
    'long before its end',
    async (cut, append, { ledger }) => {
      await append(ledger);
      await cut();
      await sleep(50);
      await append(ledger);
    },
  ],
  [
    'during a call',
    async (cut, append, { ledger }) => {
      const cutting = cut();
      await Promise.all([append(ledger), append(ledger)]).finally(() => cutting);
      await append(ledger);
    },
  ],
  [
    'between rehearsed calls',
    async (cut, append, { rehearse }) => {
      await rehearse(async (inner) => {
        await append(inner);
        await cut();
        await append(inner);
      });
    },
  ],
  [
    'at the end of a rehearsal',
    async (cut, append, { rehearse }) => {
      await rehearse(async (inner) => {
        await append(inner);
        await cut();
      });
    },
  ],
])('a connection that is lost %s fails its transaction and nothing else', async (_, work) => {
  const { run, cut, append, content } = await setting();
  for (let round = 0; round < 5; round += 1) {
    const call = (ledger: Ledger) => append(ledger, 'lost');
    const failed = run((transaction) => work(cut, call, transaction));
    await expect(failed).rejects.toMatchObject({
      code: expect.stringMatching(/^(CONNECTION_|ECONN|57P01|connection_lost)/),
    });
  }
  expect(await content()).toBe('start');
  await run(({ ledger }) => append(ledger, 'again'));
  expect(await content()).toBe('start\n\nagain');
});
