import { atMost, type Bench, fragment, latencies, mean, prose, type Result } from './bench.ts';

const big = 240_000;
const small = 2_000;
const foldEvery = 1024;

/**
 * What an append costs at 240 kB, in time against 2 kB and in log bytes. One append in 1,024 folds the run into a new
 * base; it is measured by itself and its cost spread over the 1,024.
 */
export async function appendFlat(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, user } = bench;
  const rounds = bench.quick ? 3 : 8;
  const append = (task: string) => app`select * from planledger.plan_append(${user}, ${task}, ${fragment})`;
  const lsn = async () => {
    const [row] = await admin<{ lsn: string }[]>`select pg_current_wal_insert_lsn() - '0/0' as lsn`;
    return Number(row?.lsn);
  };

  const times = { big: [] as number[], small: [] as number[] };
  const wal: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await bench.makePlan(`flat-small-${round}`, prose(small));
    await bench.makePlan(`flat-big-${round}`, prose(big));
    await latencies(20, () => append(`flat-small-${round}`));
    await latencies(20, () => append(`flat-big-${round}`));
    times.small.push(mean(await latencies(150, () => append(`flat-small-${round}`))));
    const before = await lsn();
    times.big.push(mean(await latencies(150, () => append(`flat-big-${round}`))));
    wal.push(((await lsn()) - before) / 150);
  }

  const folds = { time: [] as number[], wal: [] as number[] };
  for (let round = 0; round < (bench.quick ? 1 : 3); round += 1) {
    const task = `flat-fold-${round}`;
    await bench.makePlan(task, prose(big - foldEvery * (fragment.length + 2)));
    await latencies(foldEvery - 1, () => append(task));
    const before = await lsn();
    folds.time.push(mean(await latencies(1, () => append(task))));
    folds.wal.push((await lsn()) - before);
  }

  const bigTime = mean(times.big) + mean(folds.time) / foldEvery;
  const smallTime = mean(times.small);
  const bytes = mean(wal) + mean(folds.wal) / foldEvery;
  return {
    append_flat: atMost(
      bigTime / smallTime,
      1.3,
      `${bigTime.toFixed(3)} ms at 240 kB, ${smallTime.toFixed(3)} ms at 2 kB, a fold ${mean(folds.time).toFixed(1)} ms`,
    ),
    append_wal: atMost(bytes, 1200, `log bytes per 100-byte append at 240 kB, a fold ${Math.round(mean(folds.wal))}`),
  };
}
