import { expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import { failure } from '../observe.ts';
import { age } from '../plans.ts';

const db = useDatabase();

test('the events of a task say what was committed, in order, and hold no text', async () => {
  const { task, agent, user, session } = await makeCast(db);
  const by = { principal: agent, task_id: task };
  const created = await db.ledger.planCreate({ ...by, content: 'UnmistakableText', title: 'UnmistakableTitle' });
  const joined = await db.ledger.planAppend({ ...by, fragment: 'b', request_id: 'r' });
  await db.ledger.planAppend({ ...by, fragment: 'b', request_id: 'r' }); // replayed: no event
  await failure(db.ledger.planReplace({ ...by, content: 'refused' }));
  await age(db, task, '6 minutes');
  const { version } = await db.ledger.planAppend({ ...by, fragment: 'c' });
  await db.ledger.planMarkImplementationStarted({ ...by, session_id: session });
  await db.ledger.planMarkImplementationStarted({ ...by, session_id: session });
  const source = await db.ledger.revisionGet({ ...by, revision_id: created.revision_id });
  const restore = {
    ...by,
    revision_id: source.id,
    expected_version: version,
    expected_revision_version: source.revision_version,
  };
  const restored = await db.ledger.planRestore(restore);
  await db.ledger.planRestore({ ...restore, expected_version: restored.version }); // already current: no event
  await db.ledger.planDelete(by);
  await db.ledger.planRevert({ principal: user, task_id: task, revision_id: source.id });
  await db.ledger.taskArchive({ principal: user, task_id: task });
  await db.ledger.taskArchive({ principal: user, task_id: task });
  const events = await db.admin`
    select kind, revision_number, coalesced, restored_from from planledger.events where task_id = ${task} order by id`;
  const none = { revision_number: null, coalesced: null, restored_from: null };
  expect(events).toEqual([
    { ...none, kind: 'task.created' },
    { ...none, kind: 'plan.created', revision_number: 1, coalesced: false },
    { ...none, kind: 'plan.updated', revision_number: 1, coalesced: true },
    { ...none, kind: 'plan.updated', revision_number: 2, coalesced: false },
    { ...none, kind: 'plan.implementation_started' },
    { kind: 'plan.updated', revision_number: 3, coalesced: false, restored_from: source.id },
    { ...none, kind: 'plan.deleted' },
    { kind: 'plan.created', revision_number: 4, coalesced: false, restored_from: source.id },
    { ...none, kind: 'task.archived' },
  ]);
  const [row] = await db.admin`
    select bool_or(e::text like '%Unmistakable%') as text, count(distinct xid)::int as transactions,
      bool_and(revision_id is null or revision_id in (select id from planledger.plan_revisions)) as known
    from planledger.events e where task_id = ${task}`;
  expect(row).toEqual({ text: false, transactions: 9, known: true });
  expect(joined.plan_id).toBe(created.plan_id);
});

test('what rolls back leaves no event', async () => {
  const { task, agent } = await makeCast(db);
  const undone = db.app.begin(async (sql) => {
    await sql`select planledger.plan_create(${agent}, ${task}, 'undone')`;
    throw new Error('undo');
  });
  await expect(undone).rejects.toThrow('undo');
  const events = await db.admin`select kind from planledger.events where task_id = ${task}`;
  expect(events).toEqual([{ kind: 'task.created' }]);
});
