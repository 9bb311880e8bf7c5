import { atLeast, type Bench, clients, pairedRatio, type Result, throughput } from './bench.ts';

/** Sixteen clients on one task against one client on one task; every fragment must be there afterwards. */
export async function appendContended(bench: Bench): Promise<Record<string, Result>> {
  const { app, admin, user } = bench;
  let accepted = 0;
  let round = 0;
  const run = async (count: number) => {
    round += 1;
    const task = `contended-${round}`;
    await bench.makePlan(task, 's');
    return throughput(count, bench.quick ? 700 : 1500, async () => {
      await app`select * from planledger.plan_append(${user}, ${task}, 'y')`;
      accepted += 1;
    });
  };
  const { ratio, a, b } = await pairedRatio(
    bench.quick ? 3 : 7,
    () => run(clients),
    () => run(1),
  );
  const [row] = await admin<{ stored: number }[]>`
    select sum(length(content) - length(replace(content, 'y', '')))::int as stored
    from planledger.plan_document where task_id like 'contended-%'`;
  if (row?.stored !== accepted) throw new Error(`${accepted} appends were accepted, ${row?.stored} are stored`);
  return {
    append_contended: atLeast(
      ratio,
      1,
      `${Math.round(a)}/s with 16 clients, ${Math.round(b)}/s with one, ${accepted} accepted, none lost`,
    ),
  };
}
