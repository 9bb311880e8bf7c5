import type { Sql } from '../../postgres/connect.ts';
import { type Check, fail, ok, warn } from './doctor-report.ts';

/** Whether jobs can be run, and somebody runs them. */
export async function checkJobs(sql: Sql): Promise<Check[]> {
  const [queue] = await sql<{ owner: string }[]>`
    select nspowner::regrole::text as owner from pg_namespace where nspname = 'planledger_jobs'`;
  // Every run stores a snapshot, so the last one tells when events were pruned last.
  const [pruning] = await sql<{ overdue: boolean; last: Date | null }[]>`
    select max(s.taken_at) as last,
      coalesce(max(s.taken_at), (select min(created_at) from planledger.events)) < now() - interval '1 hour' as overdue
    from planledger.event_snapshots s`;
  return [
    queue?.owner === 'planledger_worker'
      ? ok('job queue', 'planledger_worker owns planledger_jobs')
      : fail(
          'job queue',
          queue === undefined ? 'the schema planledger_jobs is missing' : `planledger_jobs belongs to ${queue.owner}`,
          queue === undefined
            ? 'Run `planledger migrate`.'
            : 'As a DBA: alter schema planledger_jobs owner to planledger_worker;',
        ),
    pruning?.overdue
      ? warn(
          'pruning',
          pruning.last === null
            ? 'events were never pruned'
            : `events were pruned last at ${pruning.last.toISOString()}`,
          'No worker runs: start `planledger worker` beside the servers.',
        )
      : ok('pruning', 'events are pruned'),
  ];
}

/** Whether accepted prompts wait for a person. */
export async function checkDeliveries(sql: Sql): Promise<Check> {
  const rows = await sql<{ state: string; count: number }[]>`
    select state, count(*)::integer as count from planledger.stuck_deliveries group by state order by state`;
  if (rows.length === 0) return ok('deliveries', 'no prompt waits for a person');
  return warn(
    'deliveries',
    rows.map(({ state, count }) => `${count} ${state}`).join(', '),
    'select * from planledger.stuck_deliveries; says what each means, docs/deliveries.md what to do.',
  );
}
