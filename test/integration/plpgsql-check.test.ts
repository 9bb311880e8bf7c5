import { expect, test } from 'vitest';
import { useDatabase } from '../support/fixture.ts';

const db = useDatabase();

// The extension comes with Debian's PostgreSQL and not with the embedded one; CI runs this where it is.
test('plpgsql_check has nothing to say about any function', async ({ skip }) => {
  const available = await db.admin`select from pg_available_extensions where name = 'plpgsql_check'`;
  if (available.length === 0) {
    expect(process.env.PLANLEDGER_REQUIRE_PLPGSQL_CHECK, 'this run requires plpgsql_check').toBeUndefined();
    skip('this server does not have plpgsql_check');
  }
  await db.admin`create extension plpgsql_check`;
  const findings = await db.admin`
    select p.proname, c.lineno, c.level, c.message
    from pg_proc p
      join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
      cross join lateral plpgsql_check_function_tb(
        p.oid,
        case p.proname
          when 'task_place' then 'planledger.tasks'::regclass
          when 'segments_go_with_task' then 'planledger.tasks'::regclass
          when 'settings_keep_row' then 'planledger.settings'::regclass
          else 0::regclass
        end,
        extra_warnings => true, security_warnings => true) c
    where p.pronamespace = 'planledger'::regnamespace`;
  expect([...findings]).toEqual([]);
});
