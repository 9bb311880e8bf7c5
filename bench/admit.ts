import { randomUUID } from 'node:crypto';
import { createLedger } from '../src/ledger/ledger.ts';
import { jobSchema } from '../src/postgres/job-queue.ts';
import { atLeast, type Bench, clients, pairedRatio, type Result, workThrough } from './bench.ts';

const tasks = 64;
const about = { body: 'Why is this so?', selected_text: 'start', anchor_from: 0, anchor_to: 5 };

/**
 * Messages accepted with two comments each against two rows written bare. A message is the longest way in: it consumes
 * the comments, makes the session busy and adds the job that delivers it, in one call. Bare is one statement that inserts
 * a row shaped like a message and one shaped like a receipt, without locks, checks, references, events or job.
 */
export async function admit(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, quick, user } = bench;
  const ledger = createLedger(app);
  const plans: { principal: string; task_id: string; plan_id: string }[] = [];
  for (let at = 0; at < tasks; at += 1) {
    const on = { principal: user, task_id: `admit-${at}` };
    await bench.makePlan(on.task_id, 'start');
    plans.push({ ...on, plan_id: String((await ledger.planGet(on))?.id) });
  }
  await admin`create table bare.messages (like planledger.session_messages including all)`;
  await admin`create table bare.receipts (like planledger.receipts including all)`;
  await admin`grant all on all tables in schema bare to planledger_app`;

  const perPlan = quick ? 10 : 25;
  let round = 0;
  const accept = async () => {
    round += 1;
    const prompts = Array.from({ length: perPlan }, (_, at) =>
      plans.map((on) => ({ ...on, id: `${round}-${at}`, refs: [commentReference(), commentReference()] })),
    ).flat();
    await workThrough(prompts, async ({ id, refs, ...on }) => {
      await ledger.sessionCreate({ ...on, session_id: id, name: 's', transport: 'webhook' });
      for (const ref of refs) await ledger.commentCreate({ ...on, comment_id: ref.id, ...about });
    });
    const rate = await workThrough(
      prompts,
      ({ task_id, id, refs }) => app`
        select * from planledger.message_add(${user}, ${task_id}, ${id}, ${id}, 'Go on.', ${app.json(refs)})`,
    );
    await admin`select ${admin(jobSchema)}.remove_job(j.key) from ${admin(jobSchema)}.jobs j`;
    return rate;
  };
  const bare = () =>
    workThrough(
      Array.from({ length: perPlan * tasks }, (_, at) => `admit-${at % tasks}`),
      (task) => app`
        with message as (
          insert into bare.messages (task_id, id, session_id, role, content, client_id, author_id, author_name)
          values (${task}, gen_random_uuid(), 's', 'user', 'Go on.', 'c', ${user}, 'User')
          returning *
        ), receipt as (
          insert into bare.receipts (task_id, id, session_id, dispatch_id)
          select m.task_id, m.id, m.session_id, m.id from message m
        )
        select * from message`,
    );
  await accept();
  await bare();
  const { ratio, a, b } = await pairedRatio(quick ? 5 : 11, accept, bare);

  const [left] = await admin<{ comments: number; messages: number }[]>`
    select (select count(*)::int from planledger.plan_comments where task_id like 'admit-%') as comments,
      (select count(*)::int from planledger.session_messages where task_id like 'admit-%') as messages`;
  const accepted = round * perPlan * tasks;
  if (left?.comments !== 0 || left.messages !== accepted) {
    throw new Error(`${accepted} messages were accepted: ${JSON.stringify(left)} are there`);
  }
  return {
    admit: atLeast(ratio, 0.08, `${Math.round(a)} messages/s, ${Math.round(b)} bare writes/s, ${clients} clients`),
  };
}

function commentReference() {
  return { id: randomUUID(), version: 1 };
}
