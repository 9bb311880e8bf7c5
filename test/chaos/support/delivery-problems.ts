import type { Sql } from '../../../src/postgres/connect.ts';
import type { Told } from './prompting.ts';

interface Row {
  client_id: string;
  state: string;
}

/**
 * What is wrong with the deliveries of a database once nothing is under way, empty when nothing is: read from the tables
 * and from what the agents recorded, and compared with what the senders were told.
 */
export async function deliveryProblems(admin: Sql, recorded: string[], told: Told): Promise<string[]> {
  const times = counts(recorded.flatMap((text) => text.match(/(?<=(prompt|comment)-)[0-9a-f-]{36}/g) ?? []));
  const deliveries = await admin<Row[]>`
    select d.client_id, r.state from planledger.deliveries d
      join planledger.receipts r on r.task_id = d.task_id and r.id = d.id`;
  const carried = await admin<{ comment: string; client_id: string }[]>`
    select c ->> 'id' as comment, d.client_id
    from planledger.deliveries d
      left join planledger.session_messages m on m.task_id = d.task_id and m.id = d.message_id
      left join planledger.queue_entries q on q.task_id = d.task_id and q.id = d.id
      cross join jsonb_array_elements(coalesce(m.comments, q.comments)) c`;
  const waiting = await admin<{ id: string }[]>`select id::text from planledger.plan_comments`;
  const written = await admin<{ content: string }[]>`
    select content from planledger.session_messages where role = 'user'`;
  const places = counts([...carried.map(({ comment }) => comment), ...waiting.map(({ id }) => id)]);
  const contents = new Set(written.map(({ content }) => content));
  const known = new Set(deliveries.map(({ client_id }) => client_id));
  const namedBy = new Set(carried.map(({ comment, client_id }) => `${client_id} ${comment}`));
  const free = await admin<{ id: string }[]>`
    select s.task_id || '/' || s.id as id from planledger.task_sessions s
    where s.transport is not null and s.state not in ('WAITING_FOR_INPUT', 'FAILED')`;

  return [
    ...[...times].filter(([, count]) => count > 1).map(([id, count]) => `${id} was handed over ${count} times`),
    ...deliveries
      .filter(({ state }) => !['acknowledged', 'cleared', 'failed'].includes(state))
      .map(({ client_id, state }) => `${client_id} is still ${state}`),
    ...deliveries
      .filter(({ client_id, state }) => state === 'acknowledged' && !times.has(client_id))
      .map(({ client_id }) => `${client_id} was acknowledged and not handed over`),
    ...recorded.filter((text) => !contents.has(text)).map((text) => `not as in the transcript: ${text}`),
    ...[...told.accepted.keys()].filter((id) => !known.has(id)).map((id) => `${id} was accepted and is lost`),
    ...[...told.refused].filter((id) => known.has(id)).map((id) => `${id} was refused and accepted`),
    ...[...told.accepted].flatMap(([id, comments]) =>
      comments.filter((comment) => !namedBy.has(`${id} ${comment}`)).map((comment) => `${id} has lost ${comment}`),
    ),
    ...[...told.comments]
      .filter((id) => places.get(id) !== 1)
      .map((id) => `the comment ${id} is in ${places.get(id) ?? 0} places`),
    ...free.map(({ id }) => `the session ${id} is not free again`),
  ];
}

/** How many accepted prompts are in which state, and how many of those were handed over, for people. */
export async function deliveryCounts(admin: Sql, recorded: string[]): Promise<string> {
  const handed = new Set(recorded.flatMap((text) => text.match(/(?<=prompt-)[0-9a-f-]{36}/g) ?? []));
  const rows = await admin<Row[]>`
    select d.client_id, r.state from planledger.deliveries d
      join planledger.receipts r on r.task_id = d.task_id and r.id = d.id`;
  const all = counts(rows.map(({ client_id, state }) => `${state}${handed.has(client_id) ? '' : ', not handed over'}`));
  return [...all].map(([what, count]) => `${count} ${what}`).join('; ');
}

function counts(values: string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const value of values) found.set(value, (found.get(value) ?? 0) + 1);
  return found;
}
