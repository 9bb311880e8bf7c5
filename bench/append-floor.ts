import { atLeast, type Bench, clients, fragment, pairedRatio, type Result, throughput } from './bench.ts';

const tasks = 64;

/**
 * Appends against the same two rows written bare: one statement that updates a row shaped like a revision and inserts
 * one shaped like a segment, without locks, checks, references or events. Each client has four tasks of its own, on
 * both sides; what sharing a task costs is another scenario.
 */
export async function appendFloor(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, user } = bench;
  for (let task = 0; task < tasks; task += 1) await bench.makePlan(`floor-${task}`, 'start');
  await admin`create table bare.revisions (like planledger.plan_revisions including all) with (fillfactor = 70)`;
  await admin`create table bare.segments (like planledger.plan_segments including all)`;
  await admin`insert into bare.revisions select * from planledger.plan_revisions where task_id like 'floor-%'`;
  await admin`grant all on all tables in schema bare to planledger_app`;
  await admin`analyze`;

  let turn = 0;
  const task = (client: number) => {
    turn += 1;
    return `floor-${client * 4 + (turn % 4)}`;
  };
  const append = (client: number) => app`select * from planledger.plan_append(${user}, ${task(client)}, ${fragment})`;
  const bare = (client: number) => app`
    with head as (
      update bare.revisions r
      set write_version = gen_random_uuid(), last_segment = r.last_segment + 1,
        content_bytes = r.content_bytes + 102, content_chars = r.content_chars + 102, updated_at = clock_timestamp()
      where r.task_id = ${task(client)} and r.revision_number = 1
      returning r.*
    ), segment as (
      insert into bare.segments (task_id, seq, body) select h.task_id, h.last_segment, ${fragment} from head h
    )
    select * from head`;
  const ms = bench.quick ? 700 : 1500;
  await throughput(clients, 1000, append);
  await throughput(clients, 1000, bare);
  const { ratio, a, b } = await pairedRatio(
    bench.quick ? 5 : 11,
    () => throughput(clients, ms, append),
    () => throughput(clients, ms, bare),
  );
  return {
    append_floor: atLeast(ratio, 0.5, `${Math.round(a)} appends/s, ${Math.round(b)} bare writes/s, 16 clients`),
  };
}
