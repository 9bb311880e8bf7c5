import { connect } from '../src/postgres/connect.ts';
import { atMost, type Bench, latencies, median, pairedRatio, prose, type Result } from './bench.ts';

/**
 * Reading a plan of 100 kB in 100 segments against selecting one row of 100 kB, one client on one connection. The
 * segments differ: one row of a paragraph a hundred times over would be compressed to nothing.
 */
export async function read(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, user } = bench;
  await bench.makePlan('read', prose(998, 1));
  for (let segment = 2; segment <= 100; segment += 1) {
    await app`select * from planledger.plan_append(${user}, 'read', ${prose(998, segment)})`;
  }
  await admin`create table bare.texts (task_id text primary key, content text not null)`;
  await admin`insert into bare.texts select task_id, content from planledger.plan_document where task_id = 'read'`;
  await admin`grant all on all tables in schema bare to planledger_app`;
  await admin`vacuum analyze`;
  const count = bench.quick ? 100 : 300;
  const one = await connect(bench.url, { max: 1 });
  const { ratio, a, b } = await pairedRatio(
    bench.quick ? 5 : 9,
    async () => median(await latencies(count, () => one`select * from planledger.plan_get(${user}, 'read')`)),
    async () => median(await latencies(count, () => one`select * from bare.texts where task_id = 'read'`)),
  );
  await one.end();
  return { read: atMost(ratio, 1.5, `${a.toFixed(3)} ms in 100 segments, ${b.toFixed(3)} ms in one row, p50`) };
}
