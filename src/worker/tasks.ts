import type { Task, TaskList } from 'graphile-worker';
import type { Ledger } from '../ledger/generated.ts';
import type { Host } from './host.ts';
import { prune, pruneSchedule } from './prune.ts';

/** @see tasks */
export interface TaskServices {
  /** Calls as `planledger_worker`. */
  ledger: Ledger;
  host: Host;
  deliver(taskId: string, receiptId: string): Promise<void>;
}

/** When what dead workers have left is put right, and at the start of a worker. */
const reconcileSchedule = '* * * * * reconcile_receipts ?jobKey=reconcile_receipts&max=3&fill=1m';

export const schedule = `${pruneSchedule}\n${reconcileSchedule}`;

/** What workers do, by the names that the database has for it. A job says only where to look. */
export function tasks({ ledger, host, deliver }: TaskServices): TaskList {
  return {
    prune,
    reconcile_receipts: async () => void (await ledger.receiptsReconcile({})),
    deliver_receipt: about('receipt_id', deliver),
    start_agent: about('session_id', host.start),
  };
}

function about(name: string, work: (taskId: string, id: string) => Promise<void>): Task {
  return async (payload) => {
    const values = payload as Record<string, string>;
    await work(values.task_id ?? '', values[name] ?? '');
  };
}
