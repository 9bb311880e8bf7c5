import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { type Cast, makeCast, useDatabase } from '../../support/fixture.ts';
import { openSocket } from '../../surfaces/gateway/socket.ts';
import { startHttp, tokenFor } from '../../surfaces/mcp/clients.ts';
import { closeSessions, openSession, until } from '../sessions.ts';

const db = useDatabase();

/** A request without its id, which each action names otherwise. */
interface Request {
  task_id: string;
  session_id: string;
  content: string;
  plan_comment_refs: { id: string; version: number }[];
  attachments: string[];
  plan_mode: boolean;
  require_primary_session: boolean;
}
type Action = 'message' | 'queue';
/** Answers the delivery; throws what has the code and details of a refusal. */
type Send = (action: Action, request: Request, id: string, by?: string) => Promise<{ id: string; replayed: boolean }>;

/** A request with everything in it, and both surfaces to send it by, as the user or another principal. */
async function setting() {
  const cast = await makeCast(db);
  const by = { principal: cast.user, task_id: cast.task };
  const { plan_id } = await db.ledger.planCreate({ ...by, content: 'a plan' });
  const plan_comment_refs = [];
  for (const body of ['one', 'two']) {
    const comment_id = randomUUID();
    const about = { selected_text: 'plan', anchor_from: 0, anchor_to: 4 };
    await db.ledger.commentCreate({ ...by, plan_id, comment_id, body, ...about });
    plan_comment_refs.push({ id: comment_id, version: 1 });
  }
  for (const session_id of ['other', 's']) {
    await db.ledger.sessionCreate({ ...by, name: session_id, session_id, is_primary: true });
    await db.ledger.sessionSetState({ ...by, session_id, state: 'WAITING_FOR_INPUT' });
  }
  const file = { name: 'a.txt', media_type: 'text/plain', content: Buffer.from('file') };
  const staged = await db.ledger.attachmentStage({ ...by, ...file });
  const request: Request = {
    ...{ task_id: cast.task, session_id: 's', content: 'go', plan_comment_refs },
    ...{ attachments: [staged.id], plan_mode: true, require_primary_session: true },
  };
  const surfaces = { sql: bySql(cast), gateway: await byGateway(cast) };

  /** Everything that a repeat must leave as it is. */
  const everything = async () => {
    const [row] = await db.admin`
      select ${by.task_id}::text as task,
        (select jsonb_agg(d order by d.client_id) from planledger.deliveries d where d.task_id = ${by.task_id}) as deliveries,
        (select jsonb_agg(r order by r.id) from planledger.receipts r where r.task_id = ${by.task_id}) as receipts,
        (select jsonb_agg(q order by q.id) from planledger.queue_entries q where q.task_id = ${by.task_id}) as entries,
        (select jsonb_agg(m order by m.id) from planledger.session_messages m where m.task_id = ${by.task_id}) as messages,
        (select jsonb_agg(s order by s.id) from planledger.task_sessions s where s.task_id = ${by.task_id}) as sessions,
        (select jsonb_agg(c order by c.id) from planledger.plan_comments c where c.task_id = ${by.task_id}) as comments,
        (select count(*) from planledger.events e where e.task_id = ${by.task_id}) as events`;
    return row;
  };
  const [first, second] = plan_comment_refs;
  if (!first || !second) expect.unreachable();
  const different: Partial<Request>[] = [
    { session_id: 'other' },
    { content: 'gone' },
    { plan_comment_refs: [second, first] },
    { plan_comment_refs: [first] },
    { plan_comment_refs: [first, { ...second, version: 2 }] },
    { attachments: [] },
    { plan_mode: false },
    { require_primary_session: false },
  ];
  /** Sends the request again in every way, and once more with each difference; nothing may change by any of it. */
  async function expectReplays(delivery: { id: string }, id: string, state: string): Promise<void> {
    const before = await everything();
    for (const send of Object.values(surfaces)) {
      for (const action of ['message', 'queue'] as const) {
        expect(await send(action, request, id)).toMatchObject({ ...delivery, state, replayed: true });
        for (const difference of different) {
          const refused = send(action, { ...request, ...difference }, id);
          await expect(refused, JSON.stringify(difference)).rejects.toMatchObject({
            code: 'idempotency_conflict',
            details: { delivery_id: delivery.id },
          });
        }
        const stranger = await send(action, request, id, cast.service).catch((error) => error);
        expect(stranger).toMatchObject({ code: 'idempotency_conflict' });
        expect(JSON.stringify(stranger)).not.toContain(delivery.id);
      }
    }
    expect(await everything()).toEqual(before);
  }
  return { by, request, surfaces, expectReplays };
}

function bySql({ user }: Cast): Send {
  return async (action, request, id, principal = user) => {
    const asked = { principal, ...request };
    const answer = await (action === 'message'
      ? db.ledger.messageAdd({ ...asked, client_message_id: id })
      : db.ledger.queueAdd({ ...asked, client_queue_id: id }));
    return { ...answer, created_at: answer.created_at?.toISOString() };
  };
}

async function byGateway({ user, service }: Cast): Promise<Send> {
  const { url } = await startHttp(db);
  const open = async (principal: string) => openSocket(url, (await tokenFor(db, principal)).token);
  const sockets = new Map([
    [user, await open(user)],
    [service, await open(service)],
  ]);
  return async (action, request, id, principal = user) => {
    const named = action === 'message' ? { client_message_id: id } : { client_queue_id: id };
    const name = action === 'message' ? 'message.add' : 'message.queue.add';
    const answer = await sockets.get(principal)?.request(name, { ...request, ...named });
    if (answer?.type !== 'response') throw answer?.payload;
    return answer.payload;
  };
}

const ways = (['sql', 'gateway'] as const).flatMap((surface) =>
  (['message', 'queue'] as const).map((action) => [action, surface] as const),
);

test.each(ways)(
  'a %s accepted by %s is answered with itself, and a difference refused, until long after it is pruned',
  async (action, surface) => {
    const { by, request, surfaces, expectReplays } = await setting();
    const worker = createLedger(db.admin);
    const { task_id } = by;
    const { replayed, ...sent } = await surfaces[surface](action, request, 'x');
    expect(replayed).toBe(false);
    // What it became is the same at every stage, whatever has come of it.
    const delivery = { ...sent, state: expect.any(String) };
    await expectReplays(delivery, 'x', 'pending');
    const { lease_token: token } = await worker.receiptReserve({ task_id, receipt_id: sent.id, holder: 'test' });
    await expectReplays(delivery, 'x', 'reserved');
    await worker.receiptMarkAttempted({ task_id, token });
    await expectReplays(delivery, 'x', 'attempted');
    await worker.receiptAcknowledge({ task_id, token });
    await expectReplays(delivery, 'x', 'acknowledged');
    await db.admin`update planledger.receipts set ended_at = ended_at - interval '31 days' where id = ${sent.id}`;
    await worker.receiptsPrune({});
    expect(await db.admin`select from planledger.receipts where id = ${sent.id}`).toEqual([]);
    await expectReplays(delivery, 'x', 'acknowledged');
    await db.ledger.sessionClose({ ...by, session_id: 's' });
    await expectReplays(delivery, 'x', 'acknowledged');
    await db.ledger.taskArchive(by);
    await expectReplays(delivery, 'x', 'acknowledged');
  },
);

test.each(['commit', 'rollback'] as const)('repeats wait for the request that is being accepted: %s', async (end) => {
  const { by, request, surfaces, expectReplays } = await setting();
  const accepting = await openSession(db, 'accepting');
  await accepting.begin();
  const sent = await accepting.ledger.messageAdd({ ...by, ...request, client_message_id: 'x' });
  const repeats = Object.values(surfaces).flatMap((send) =>
    (['message', 'queue'] as const).map((action) => send(action, request, 'x')),
  );
  await until('four repeats that wait', async () => {
    const waiting = await db.admin`
      select from pg_stat_activity where pg_blocking_pids(pid) @> array[${accepting.pid}::integer]`;
    return waiting.length === 4 ? waiting : undefined;
  });
  await accepting[end]();
  const answers = await Promise.all(repeats);
  const [{ id } = expect.unreachable()] = answers;
  expect(answers.map((answer) => answer.id)).toEqual([id, id, id, id]);
  expect(id === sent.id).toBe(end === 'commit');
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(end === 'commit' ? 0 : 1);
  await expectReplays({ id }, 'x', 'pending');
  await closeSessions(accepting);
});
