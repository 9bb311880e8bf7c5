import { expect, test } from 'vitest';
import { createLedger } from '../../src/ledger/ledger.ts';
import { type Cast, makeCast, useDatabase } from '../support/fixture.ts';
import { historyProblems } from './support/history.ts';
import { type Report, startWorker, type Worker } from './support/processes.ts';

const db = useDatabase();
const processes = 8;
const each = 200;

/** Eight processes ready to append to one task, every one as an agent of its own, so that writes rarely merge. */
async function startWriters({ workspace, task }: Cast): Promise<Worker[]> {
  const administrator = createLedger(db.admin);
  return await Promise.all(
    Array.from({ length: processes }, async (_, index) => {
      const agent = await administrator.principalCreate({ workspace_id: workspace, kind: 'agent', task_id: task });
      const writer = startWorker('append', {
        url: db.url,
        applicationName: `writer ${index}`,
        principal: agent.id,
        tasks: [task],
        count: each,
      });
      await writer.until('ready');
      return writer;
    }),
  );
}

/** The fragments of the final text, after checking that every revision holds a beginning of it. */
async function fragmentsOf({ task, agent }: Cast): Promise<string[]> {
  const plan = await db.ledger.planGet({ principal: agent, task_id: task });
  const revisions = await db.admin<{ beginning: boolean }[]>`
    select starts_with(${plan?.content ?? ''}, content) as beginning
    from planledger.revision_document where task_id = ${task} order by revision_number`;
  expect(revisions).toHaveLength(plan?.revision_number ?? 0);
  expect(revisions.filter(({ beginning }) => !beginning)).toEqual([]);
  expect(await historyProblems(db.admin)).toEqual([]);
  return (plan?.content ?? '').split('\n\n');
}

/** Checks that the acknowledgements, by the sizes they state, tell how the text came about, in one serial order. */
function expectSerial(fragments: string[], acknowledged: Report[]): void {
  const endOf = new Map<string, number>();
  let bytes = 0;
  for (const fragment of fragments) {
    endOf.set(fragment, bytes + fragment.length);
    bytes += fragment.length + 2;
  }
  const wrong = acknowledged.filter(({ fragment, answer }) => answer?.content_bytes !== endOf.get(fragment ?? ''));
  expect(wrong).toEqual([]);
  const inOrder = acknowledged.toSorted((a, b) => (a.answer?.content_bytes ?? 0) - (b.answer?.content_bytes ?? 0));
  const numbers = inOrder.map(({ answer }) => answer?.revision_number ?? 0);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
}

test('8 processes append 200 fragments each to one task: every fragment exactly once, in one serial order', async () => {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'start' });
  const writers = await startWriters(cast);
  for (const writer of writers) writer.tell('go');
  expect(await Promise.all(writers.map(({ ended }) => ended))).toEqual(writers.map(() => 0));

  expect(writers.flatMap((writer) => writer.of('failed'))).toEqual([]);
  const fragments = await fragmentsOf(cast);
  expect(fragments).toHaveLength(1 + processes * each);
  expect(new Set(fragments).size).toBe(1 + processes * each);
  for (let index = 0; index < processes; index += 1) {
    expect(fragments.filter((fragment) => fragment.startsWith(`writer ${index} `))).toEqual(
      Array.from({ length: each }, (_, number) => `writer ${index} ${number}`),
    );
  }
  const acknowledged = writers.flatMap((writer) => writer.of('acknowledged'));
  expect(acknowledged).toHaveLength(processes * each);
  expect(new Set(acknowledged.map(({ answer }) => answer?.version)).size).toBe(processes * each);
  expectSerial(fragments, acknowledged);
});

test('half of the processes are killed: every acknowledged append is there exactly once, any other at most once', async () => {
  const cast = await makeCast(db);
  await db.ledger.planCreate({ principal: cast.agent, task_id: cast.task, content: 'start' });
  const writers = await startWriters(cast);
  const victims = writers.filter((_, index) => index % 2 === 1);
  for (const writer of writers) writer.tell('go');
  await Promise.all(
    victims.map(async (victim) => {
      await victim.until('acknowledged', 10 + Math.floor(Math.random() * 150));
      victim.kill();
    }),
  );
  const ends = await Promise.all(writers.map(({ ended }) => ended));
  expect(ends).toEqual(writers.map((writer) => (victims.includes(writer) ? 'SIGKILL' : 0)));

  expect(writers.flatMap((writer) => writer.of('failed'))).toEqual([]);
  const fragments = await fragmentsOf(cast);
  expect(new Set(fragments).size).toBe(fragments.length);
  const acknowledged = writers.flatMap((writer) => writer.of('acknowledged'));
  const missing = acknowledged.filter(({ fragment }) => !fragments.includes(fragment ?? ''));
  expect(missing).toEqual([]);
  // A process has one call under way at a time, so beyond what it was told at most one more of it is there.
  for (const [index, writer] of writers.entries()) {
    const written = fragments.filter((fragment) => fragment.startsWith(`writer ${index} `)).length;
    const told = writer.of('acknowledged').length;
    expect([told, told + 1]).toContain(written);
  }
  expectSerial(fragments, acknowledged);
});
