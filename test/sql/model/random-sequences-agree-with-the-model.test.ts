import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PlanWriteAck } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { type Author, answer, type Call, type Model, newModel, wait } from '../../support/model.ts';
import { bytes, characters } from '../../support/model-text.ts';
import { failure } from '../observe.ts';
import { age, otherAgent } from '../plans.ts';
import { resolve, type Step, steps } from './commands.ts';
import { type Names, perform, same } from './perform.ts';

const db = useDatabase();
let authors: Author[] = [];
let root = '';
let owner = '';

beforeAll(async () => {
  const cast = await makeCast(db);
  root = cast.task;
  owner = cast.user;
  authors = [
    { id: cast.agent, kind: 'agent', name: 'Bot' },
    { id: await otherAgent(db, cast), kind: 'agent', name: 'Bot' },
    { id: cast.service, kind: 'agent', name: 'CI' },
    { id: cast.user, kind: 'user', name: 'Ann' },
  ];
});

const setWindow = (minutes: number) => createLedger(db.admin).settingsChange({ coalesce_window: `${minutes} minutes` });
afterAll(() => setWindow(5));

async function run(model: Model, names: Names, call: Call): Promise<void> {
  const expected = answer(model, call);
  if ('refused' in expected) {
    const error = await failure(perform(db.ledger, names, call));
    const current_version = expected.version === null ? null : names.versions.get(expected.version);
    expect(error.toJSON()).toMatchObject({
      ...expected.counts,
      code: expected.refused,
      operation: call.operation,
      write_applied: false,
      task_id: names.task,
      current_version,
    });
    return;
  }
  const ack = await perform(db.ledger, names, call);
  same(names.plans, expected.plan, ack.plan_id);
  if (call.operation === 'delete') {
    expect(ack).toMatchObject({ task_id: names.task, replayed: expected.replayed });
    return;
  }
  const { version, revision, content, plan: _, ...rest } = expected;
  const write = ack as PlanWriteAck;
  same(names.versions, version ?? 0, write.version);
  same(names.revisions, revision ?? 0, write.revision_id);
  expect(write).toMatchObject({
    ...rest,
    revision_number: revision,
    content_bytes: bytes(content ?? ''),
    content_chars: characters(content ?? ''),
  });
}

/** Compares everything a caller can see with the model. */
async function compare(model: Model, names: Names): Promise<void> {
  const plan = await db.ledger.planGet({ principal: owner, task_id: names.task });
  const latest = model.revisions.at(-1);
  if (model.plan === null) expect(plan).toBeNull();
  else {
    expect(plan).toMatchObject({
      id: names.plans.get(model.plan.id),
      version: names.versions.get(model.plan.version),
      title: latest?.title,
      content: latest?.content,
      revision_number: latest?.number,
      revision_id: names.revisions.get(latest?.number ?? 0),
      created_by: model.plan.createdBy,
    });
  }
  const rows = await db.app`
    select l.id, l.revision_number, l.title, l.author_kind, l.author_name, l.restored_from, l.content_bytes,
      g.title as title_read, g.content, g.revision_version
    from planledger.revision_list(p_principal => ${owner}, p_task_id => ${names.task}, p_policy => 'browser') l,
      lateral planledger.revision_get(${owner}, ${names.task}, l.id::text) g
    order by l.revision_number`;
  expect(rows.map(({ revision_version: _, ...row }) => row)).toEqual(
    model.revisions.map(({ number, title, author, restoredFrom, content }) => ({
      id: names.revisions.get(number),
      revision_number: number,
      title,
      author_kind: author.kind,
      author_name: author.name,
      restored_from: restoredFrom === null ? null : names.revisions.get(restoredFrom),
      content_bytes: bytes(content),
      title_read: title,
      content,
    })),
  );
  for (const [at, { number, state }] of model.revisions.entries()) {
    same(names.digests, `${number}:${state}`, rows[at]?.revision_version);
  }
}

async function play(sequence: readonly Step[]): Promise<void> {
  const { id: task } = await db.ledger.taskCreate({
    principal: owner,
    task_id: null,
    title: 'Run',
    parent_task_id: root,
  });
  const maps = { versions: new Map(), plans: new Map(), revisions: new Map(), digests: new Map() };
  const names: Names = { task, ...maps };
  const model = newModel();
  const made: Call[] = [];
  await setWindow(model.window);
  for (const step of sequence) {
    if ('wait' in step) {
      wait(model, step.wait);
      await age(db, task, `${step.wait} minutes`);
    } else if ('window' in step) {
      model.window = step.window;
      await setWindow(step.window);
    } else if ('repeat' in step) {
      const call = made[step.repeat % Math.max(made.length, 1)];
      if (call !== undefined) await run(model, names, call);
    } else {
      const call = resolve(model, step, authors);
      made.push(call);
      await run(model, names, call);
    }
    await compare(model, names);
  }
}

test('any sequence of calls answers, refuses and leaves behind what the model says', async () => {
  await fc.assert(fc.asyncProperty(steps, play), {
    numRuns: 120,
    interruptAfterTimeLimit: 150_000, // on a slow machine; usually a quarter of it is enough
    markInterruptAsFailure: true,
    verbose: fc.VerbosityLevel.None,
  });
}, 240_000);
