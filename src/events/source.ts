import type { Ledger } from '../ledger/generated.ts';
import { aroundCalls, createLedger } from '../ledger/ledger.ts';
import { poolLike, type Sql } from '../postgres/connect.ts';
import { hintChannel } from './hints.ts';

/** What events and the states they are about are read through: connections of its own, which can be given up. */
export interface Source {
  ledger: Ledger;
  /** Whether something was asked and nothing at all was answered for that many milliseconds. */
  isSilent(ms: number): boolean;
  /** Ends the connections; what was asked and is not answered fails. */
  close(): Promise<void>;
}

const connections = 2;

/**
 * Opens a source with the settings of `sql`.
 *
 * @param onHint Called when another process says that it committed something, and when the connection that listens for
 *   that is there (again); never where a PgBouncer stands between. None is listened for when absent.
 */
export function openSource(sql: Sql, onHint?: () => void): Source {
  const pool = poolLike(sql, connections, 'planledger events');
  let waiting = 0;
  let heardAt = 0;
  if (onHint !== undefined && sql.options.prepare) {
    // The driver listens again when the connection is lost; without hints the reader's own looks are enough.
    pool.listen(hintChannel, onHint, onHint).catch(() => {});
  }
  return {
    ledger: watched(createLedger(pool)),
    isSilent: (ms) => waiting > 0 && performance.now() - heardAt > ms,
    close: () => pool.end({ timeout: 0 }),
  };

  function watched(ledger: Ledger): Ledger {
    return aroundCalls(ledger, (call) => async (...given) => {
      if (waiting === 0) heardAt = performance.now();
      waiting += 1;
      try {
        return await call(...given);
      } finally {
        waiting -= 1;
        heardAt = performance.now();
      }
    });
  }
}
