import type { Sql } from '../../../src/postgres/connect.ts';
import type { AgentEntry } from '../../../src/transports/agents-file.ts';
import { startWorker, type Worker } from './processes.ts';

/** Worker processes, of which there are always as many. */
export interface Fleet {
  /** How many were killed while they had a prompt reserved, and while they had one attempted. */
  killed: { all: number; reserved: number; attempted: number };
  /** How those ended that nobody ended: a worker never does. */
  endedByThemselves: unknown[];
  /** Kills one with SIGKILL, by its process id or at random, and starts another. */
  kill(pid?: number): Promise<void>;
  /** Kills those that have had a prompt for longer than any takes: they lost the answer of a call. */
  killStuck(): Promise<void>;
  /** Ends the leases of every process that is dead, as the clock would in two minutes, and puts right what it left. */
  reconcile(): Promise<void>;
  /** Ends them all as an operator does. */
  stop(): Promise<void>;
}

export async function startFleet(
  { admin, url, agents }: { admin: Sql; url: string; agents: Record<string, AgentEntry> },
  size: number,
): Promise<Fleet> {
  const members = new Map<number, Worker>();
  const dead = new Set<number>();
  const endedByThemselves: unknown[] = [];
  const killed = { all: 0, reserved: 0, attempted: 0 };
  await Promise.all(Array.from({ length: size }, join));
  return { killed, endedByThemselves, kill, killStuck, reconcile, stop };

  async function join(): Promise<void> {
    const worker = startWorker('deliver', { url, agents });
    await worker.until('ready');
    const pid = worker.of('ready')[0]?.pid ?? 0;
    members.set(pid, worker);
    void worker.ended.then((how) => {
      if (members.delete(pid)) endedByThemselves.push(how);
    });
  }

  async function kill(pid = pick([...members.keys()])): Promise<void> {
    const worker = members.get(pid);
    if (worker === undefined) return;
    members.delete(pid);
    worker.kill();
    await worker.ended;
    dead.add(pid);
    killed.all += 1;
    const held = await admin<{ state: 'reserved' | 'attempted' }[]>`
      select distinct state from planledger.receipts
      where state in ('reserved', 'attempted') and lease_holder like ${holder(pid)}`;
    for (const { state } of held) killed[state] += 1;
    await Promise.all([reconcile(), join()]);
  }

  async function killStuck(): Promise<void> {
    const stuck = await admin<{ pid: number }[]>`
      select distinct split_part(lease_holder, '/', 2)::integer as pid from planledger.receipts
      where attempted_at < clock_timestamp() - interval '3 seconds' and state = 'attempted'
        or lease_expires_at < clock_timestamp() + interval '55 seconds' and state = 'reserved'`;
    for (const { pid } of stuck) await kill(pid);
    await reconcile();
  }

  // A lease outlives its holder by a minute or two. Each is ended here only once its process is known to be dead; and
  // again and again, since the server may still carry out what a process asked for just before its death.
  async function reconcile(): Promise<void> {
    const holders = [...dead].map(holder);
    // What somebody has locked is left to the next time: these rows are taken in no order, and several do this at once.
    await admin`
      with held as (
        select task_id, id from planledger.receipts
        where state in ('reserved', 'attempted') and lease_holder like any (${holders}) for update skip locked)
      update planledger.receipts r set lease_expires_at = clock_timestamp() - interval '1 second'
      from held h where r.task_id = h.task_id and r.id = h.id`;
    await admin`
      with held as (
        select task_id, session_id from planledger.session_agents
        where holder like any (${holders}) for update skip locked)
      update planledger.session_agents a set lease_expires_at = clock_timestamp() - interval '1 second'
      from held h where a.task_id = h.task_id and a.session_id = h.session_id`;
    await admin`select from planledger.receipts_reconcile()`;
  }

  async function stop(): Promise<void> {
    const left = [...members.values()];
    members.clear();
    for (const worker of left) worker.tell('stop');
    await Promise.all(left.map(({ ended }) => ended));
  }
}

/** A pattern for the name under which the process has its leases. */
function holder(pid: number): string {
  return `%/${pid}/%`;
}

export function pick<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)] as T;
}
