import { expect, onTestFinished, test } from 'vitest';
import { openPool, poolLike, type Sql } from '../../src/postgres/connect.ts';
import { useDatabase } from '../support/fixture.ts';

const db = useDatabase();

function open(applicationName = 'planledger'): Sql {
  const sql = openPool(db.url, { applicationName });
  onTestFinished(() => sql.end({ timeout: 1 }));
  return sql;
}

test.each([
  ['a pool', () => open()],
  ['a pool like it', () => poolLike(open(), 1, 'another')],
])('arrays come back from %s as they were given', async (_, opened) => {
  const sql = opened();
  onTestFinished(() => sql.end({ timeout: 1 }));
  const texts = ['', 'NULL', 'null', '"', '\\', 'a,b', '{c}', ' d ', '\n', '\u{1f600}', '\\"'];
  const ids = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
  const [row] = await sql.unsafe(
    'select $1::text[] as texts, $2::uuid[] as ids, $3::int[] as numbers, $4::name[] as names, $5::text[] as no',
    [texts, ids, [-1, 0, 2147483647], [], null] as never,
  );
  expect(row).toEqual({ texts, ids, numbers: [-1, 0, 2147483647], names: [], no: null });
});

// A rejection that nobody awaits fails the whole run.
test('a connection that is lost while it opens fails its call and nothing else', async () => {
  const outcomes: string[] = [];
  for (let round = 0; round < 6; round += 1) {
    const sql = openPool(db.url, { applicationName: 'lost while it opens' });
    let over = false;
    const ended = Promise.allSettled(Array.from({ length: 10 }, () => sql`select 1`)).finally(() => {
      over = true;
    });
    while (!over) {
      await db.admin`
        select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lost while it opens'`;
    }
    for (const { status } of await ended) outcomes.push(status);
    await sql.end({ timeout: 1 });
  }
  expect(outcomes).toHaveLength(60);
  expect(outcomes).toContain('rejected');
}, 30_000);
