import { type Ledger, signatures } from '../ledger/generated.ts';
import { aroundCalls } from '../ledger/ledger.ts';
import type { Sql } from '../postgres/connect.ts';

/** The channel on which a process says that it committed something. */
export const hintChannel = 'planledger_events';

/**
 * Says to every listening process that something was committed: once for all that happened while the last hint was on
 * its way. It is sent after the commit and not in the transaction, where it would make commits wait for each other.
 */
export function createHinter(sql: Sql): () => void {
  let wanted = false;
  let sending = false;
  return () => {
    wanted = true;
    if (!sending) void send();
  };

  async function send(): Promise<void> {
    sending = true;
    while (wanted) {
      wanted = false;
      await sql`select pg_notify(${hintChannel}, '')`.catch(() => {}); // a hint that is lost costs a second
    }
    sending = false;
  }
}

/** The same facade, which calls `hint` after every write that succeeded. */
export function withHints(ledger: Ledger, hint: () => void): Ledger {
  return aroundCalls(ledger, (call, method) => {
    if (!signatures[method].writes) return call;
    return async (...given) => {
      const answer = await call(...given);
      hint();
      return answer;
    };
  });
}
