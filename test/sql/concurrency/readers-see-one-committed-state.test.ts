import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectHeadIsLatest, failure } from '../observe.ts';
import { makePlan } from '../plans.ts';
import { closeSessions, openSession, until, waitsFor } from '../sessions.ts';

const db = useDatabase();

test('title, text, version and revision number read together belong to one write', async () => {
  const cast = await makePlan(db, 'n0', 'n0');
  const by = { principal: cast.user, task_id: cast.task };
  const acks = new Map([[cast.created.version, cast.created]]);
  let writing = true;
  const writer = async () => {
    for (let n = 1; n <= 150; n++) {
      const text = `n${n}${'.'.repeat((n * 37) % 800)}`; // long enough removals to make revisions of their own
      const ack = await db.ledger.planReplace({ ...by, content: text, title: `n${n}`, policy: 'browser' });
      acks.set(ack.version, ack);
    }
    writing = false;
  };
  const seen: { title: string; content: string; version: string; revision_number: number; content_bytes: number }[] =
    [];
  const reader = async () => {
    while (writing) seen.push((await db.ledger.planGet(by)) ?? expect.unreachable('the plan was never deleted'));
  };
  await Promise.all([writer(), reader(), reader(), reader()]);
  expect(seen.length).toBeGreaterThan(50);
  for (const { title, content, version, revision_number, content_bytes } of seen) {
    expect(content.split('.')[0]).toBe(title);
    expect(acks.get(version)).toMatchObject({ title, revision_number, content_bytes });
    expect(content_bytes).toBe(content.length);
  }
  await expectHeadIsLatest(db, cast.task);
});

test('a deadlock between two transactions of several calls stays a deadlock, and one of them goes on', async () => {
  const [one, two] = [await makePlan(db, 'one'), await makePlan(db, 'two')];
  const [first, second] = [await openSession(db, 'first'), await openSession(db, 'second')];
  const append = ({ agent, task }: typeof one, session: typeof first) =>
    session.ledger.planAppend({ principal: agent, task_id: task, fragment: 'more' });
  await first.begin();
  await second.begin();
  await append(one, first);
  await append(two, second);
  const [crossing, back] = [append(two, first), append(one, second)];
  const answers = await Promise.allSettled([crossing, back]);
  const refused = answers.filter((answer) => answer.status === 'rejected').map(({ reason }) => reason);
  expect(refused).toMatchObject([{ cause: { code: '40P01' }, writeApplied: false }]);
  expect(refused[0].code).not.toBe('plan_head_unavailable');
  await Promise.all([first.commit(), second.commit()]); // the loser's commit is a rollback
  await closeSessions(first, second);
  for (const { agent, task } of [one, two]) {
    const plan = await db.ledger.planGet({ principal: agent, task_id: task });
    expect(plan?.content).toMatch(/^(one|two)\n\nmore$/);
  }
});

test('marking a plan that is deleted meanwhile finds no plan, and the next plan has no marker', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const [deleter, marker] = [await openSession(db, 'deleter'), await openSession(db, 'marker')];
  await deleter.begin();
  await deleter.ledger.planDelete(by);
  const waiting = failure(marker.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session }));
  await until('the marker waiting', async () => {
    const [row] = await db.admin`
      select from pg_stat_activity where pid = ${marker.pid} and ${deleter.pid} = any(pg_blocking_pids(pid))`;
    return row;
  });
  await deleter.commit();
  expect(await waiting).toMatchObject({ code: 'plan_not_found', operation: 'mark_implementation_started' });
  await db.ledger.planCreate({ ...by, content: 'b' });
  expect(await db.ledger.planGet(by)).toMatchObject({ implementation_started_at: null });
  await closeSessions(deleter, marker);
});

test('a write right behind a marker that is not yet committed keeps it', async () => {
  const cast = await makePlan(db, 'a');
  const by = { principal: cast.agent, task_id: cast.task };
  const [marker, writer] = [await openSession(db, 'marker'), await openSession(db, 'writer')];
  await marker.begin();
  await marker.ledger.planMarkImplementationStarted({ ...by, session_id: cast.session });
  const written = writer.ledger.planAppend({ ...by, fragment: 'b' });
  let done = false;
  const finished = written.then(() => {
    done = true;
  });
  await until('the write waiting for the marker, or done', async () => {
    const [row] = await db.admin`
      select from pg_stat_activity where pid = ${writer.pid} and ${marker.pid} = any(pg_blocking_pids(pid))`;
    return done || row;
  });
  await marker.commit();
  await finished;
  expect(await db.ledger.planGet(by)).toMatchObject({
    content: 'a\n\nb',
    implementation_started_session_id: cast.session,
  });
  await closeSessions(marker, writer);
});

test('waiting writers are served one after the other, none lost, none twice', async () => {
  const cast = await makePlan(db, 'start');
  const by = { principal: cast.agent, task_id: cast.task };
  const [holder, waiter] = [await openSession(db, 'holder'), await openSession(db, 'waiter')];
  await holder.begin();
  await holder.ledger.planAppend({ ...by, fragment: 'held' });
  const first = waiter.ledger.planAppend({ ...by, fragment: 'first' });
  await waitsFor(db, waiter, holder, cast.task);
  const others = Array.from({ length: 20 }, (_, n) => db.ledger.planAppend({ ...by, fragment: `other ${n}` }));
  await holder.commit();
  await Promise.all([first, ...others]);
  const parts = (await db.ledger.planGet(by))?.content.split('\n\n') ?? [];
  expect(parts.slice(0, 2)).toEqual(['start', 'held']);
  const rest = ['first', ...Array.from({ length: 20 }, (_, n) => `other ${n}`)];
  expect(parts.slice(2).sort()).toEqual(rest.sort());
  await closeSessions(holder, waiter);
});
