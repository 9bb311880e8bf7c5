import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { toPlanledgerError } from '../ledger/errors.ts';
import type { EventsReadRow, Ledger } from '../ledger/generated.ts';
import type { Sql } from '../postgres/connect.ts';
import { hintChannel } from './hints.ts';

/** One committed change: a hint to look at a task. */
export type LedgerEvent = EventsReadRow & { id: string; task_id: string; kind: string };

/** @see openFeed */
export interface FeedOptions {
  ledger: Ledger;
  /** Where hints are listened for; behind a PgBouncer none arrive. */
  sql: Sql;
  logger: Logger;
  /** Called with what was committed since the last call, in order within a task. */
  onEvents(events: LedgerEvent[]): Promise<void>;
  /** Called when something may have been missed: every task of interest is to be looked at anew. */
  onReset(): Promise<void>;
  /** Whether hints are listened for; without them an event comes within `lookMs`. */
  hints?: boolean;
  /** Milliseconds between two looks, 1,000 when absent. */
  lookMs?: number;
}

/** @see openFeed */
export interface Feed {
  /** Settles after the first look: what is committed from then on is told as what it is. */
  ready: Promise<void>;
  close(): Promise<void>;
}

const closeMs = 500;

/**
 * Every committed event of the database, whoever wrote it: a look at once when somebody hints, and one every second
 * anyway, so that a lost hint or a writer from `psql` costs a second and never an event.
 */
export function openFeed(options: FeedOptions): Feed {
  const { ledger, sql, logger, onEvents, onReset, hints = true, lookMs = 1_000 } = options;
  let cursor: string | undefined;
  let serverStartedAt = 0;
  let looking: Promise<void> | undefined;
  let again = false;
  let failing = false;
  let closed = false;

  const ready = look();
  const timer = setInterval(look, lookMs).unref();
  // The driver listens again when the connection is lost, and what was hinted meanwhile is looked for then.
  const listening =
    hints && sql.options.prepare
      ? sql.listen(
          hintChannel,
          () => void look(),
          () => void look(),
        )
      : undefined;
  listening?.catch(() => {}); // without hints the timer is enough

  return {
    ready,
    async close() {
      closed = true;
      clearInterval(timer);
      // A database that is silent answers neither; the pool ends these connections.
      const unlistened = listening?.then(({ unlisten }) => unlisten()).catch(() => {});
      await Promise.race([Promise.all([looking, unlistened]), sleep(closeMs, undefined, { ref: false })]);
    },
  };

  /** One look at a time; who asks meanwhile gets another after it. */
  function look(): Promise<void> {
    if (closed) return Promise.resolve();
    if (looking !== undefined) {
      again = true;
      return looking;
    }
    looking = lookOnce().finally(() => {
      looking = undefined;
      if (!again) return;
      again = false;
      void look();
    });
    return looking;
  }

  async function lookOnce(): Promise<void> {
    try {
      const rows = await ledger.eventsRead({ cursor });
      const [first] = rows;
      if (first === undefined) throw new Error('events_read answered nothing');
      const startedAt = first.server_started_at.getTime();
      const anew = first.reset || startedAt !== serverStartedAt;
      cursor = first.cursor;
      serverStartedAt = startedAt;
      failing = false;
      if (anew) await onReset();
      else if (first.id !== null) await onEvents(rows as LedgerEvent[]);
    } catch (error) {
      // What was read and not told is told with the next look, as part of the state of its task.
      cursor = undefined;
      if (!failing) {
        const { code, cause } = toPlanledgerError(error, 'read_events', null);
        logger.warn({ code, cause: cause instanceof Error ? cause.name : typeof cause }, 'events cannot be read');
      }
      failing = true;
    }
  }
}
