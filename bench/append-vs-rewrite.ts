import { atLeast, type Bench, fragment, pairedRatio, prose, type Result, throughput } from './bench.ts';

const writers = 4;

/**
 * Appends against what an application does without us: read the whole text under `for update`, add to it, write the
 * document and its latest revision back, in one transaction.
 */
export async function appendVsRewrite(bench: Bench): Promise<Record<string, Result>> {
  const { admin, app, user } = bench;
  await admin`create table bare.documents (task_id text primary key, content text not null, version uuid not null)`;
  await admin`create table bare.document_revisions (task_id text, number int, content text not null, updated_at timestamptz, primary key (task_id, number))`;
  await admin`grant all on all tables in schema bare to planledger_app`;
  const results: Record<string, Result> = {};
  for (const [name, bytes, target] of [
    ['append_vs_rewrite_16k', 16_000, 2.5],
    ['append_vs_rewrite_240k', 240_000, 20],
  ] as const) {
    const text = prose(bytes);
    const ms = bench.quick ? 500 : 1000;
    let round = 0;
    const { ratio, a, b } = await pairedRatio(
      bench.quick ? 3 : 7,
      async () => {
        round += 1;
        // A plan of 240 kB takes about 200 appends, so each writer has enough plans for the time.
        const plans = bytes > 100_000 ? 12 : 1;
        for (let plan = 0; plan < writers * plans; plan += 1) await bench.makePlan(`${name}-${round}-${plan}`, text);
        const used = new Array<number>(writers).fill(0);
        return throughput(writers, ms, (client) => {
          const plan = client * plans + (Math.floor((used[client] ?? 0) / 200) % plans);
          used[client] = (used[client] ?? 0) + 1;
          return app`select * from planledger.plan_append(${user}, ${`${name}-${round}-${plan}`}, ${fragment})`;
        });
      },
      async () => {
        await admin`truncate bare.documents, bare.document_revisions`;
        for (let client = 0; client < writers; client += 1) {
          await admin`insert into bare.documents values (${`d-${client}`}, ${text}, gen_random_uuid())`;
          await admin`insert into bare.document_revisions values (${`d-${client}`}, 1, ${text}, now())`;
        }
        return throughput(writers, ms, (client) =>
          app.begin(async (sql) => {
            const [row] = await sql<{ content: string }[]>`
              select content from bare.documents where task_id = ${`d-${client}`} for update`;
            const content = `${row?.content}\n\n${fragment}`;
            await sql`update bare.documents set content = ${content}, version = gen_random_uuid() where task_id = ${`d-${client}`}`;
            await sql`update bare.document_revisions set content = ${content}, updated_at = now() where task_id = ${`d-${client}`} and number = 1`;
          }),
        );
      },
    );
    results[name] = atLeast(
      ratio,
      target,
      `${Math.round(a)} appends/s, ${Math.round(b)} rewrites/s, ${writers} clients`,
    );
  }
  return results;
}
