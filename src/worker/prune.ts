import type { Task } from 'graphile-worker';

/** When it is due, and at the start of a worker that finds it overdue. However many workers there are, one does it. */
export const pruneSchedule = '*/5 * * * * prune ?jobKey=prune&max=3&fill=5m';

/** The task `prune`: forgets events that every reader has had, request ids that
 * nobody repeats any more, files that were never sent, and receipts of long ago. */
export const prune: Task = async (_payload, { withPgClient }) => {
  await withPgClient(async (client) => {
    await client.query('select planledger.events_prune()');
    await client.query('select planledger.requests_prune()');
    await client.query('select planledger.attachments_prune()');
    await client.query('select planledger.receipts_prune()');
  });
};
