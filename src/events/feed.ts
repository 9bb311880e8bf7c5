import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { toPlanledgerError } from '../ledger/errors.ts';
import type { EventsReadRow, Ledger } from '../ledger/generated.ts';
import { connectionSettings, type Sql } from '../postgres/connect.ts';
import { openSource, type Source } from './source.ts';

/** One committed change: a hint to look at a task. */
export type LedgerEvent = EventsReadRow & { id: string; task_id: string; kind: string };

/** @see openFeed */
export interface FeedOptions {
  /** A pool with the settings of the connections that are opened; it is not used itself. */
  sql: Sql;
  logger: Logger;
  /**
   * Called at each look with what was committed since the last one, in order within a task; most often that is nothing.
   * States are read through `ledger`, which ends with the connection that the events came over.
   */
  onEvents(events: LedgerEvent[], ledger: Ledger): Promise<void>;
  /** Called when something may have been missed: every task of interest is to be looked at anew. */
  onReset(ledger: Ledger): Promise<void>;
  /** Whether hints are listened for; without them an event comes within `lookMs`. */
  hints?: boolean;
  /** Milliseconds between two looks, 1,000 when absent. */
  lookMs?: number;
  /** Milliseconds without any answer after which a connection is given up for another, 20,000 when absent. */
  silentMs?: number;
}

/** @see openFeed */
export interface Feed {
  /** Settles after the first look: what is committed from then on is told as what it is. */
  ready: Promise<void>;
  close(): Promise<void>;
}

const closeMs = 500;
/** Longer than a connection lets an answer wait for what somebody locked. */
const longestWaitMs = connectionSettings.lock_timeout + 5_000;

/**
 * Every committed event of the database, whoever wrote it: a look at once when somebody hints, and one every second
 * anyway, so that a lost hint or a writer from `psql` costs a second and never an event.
 */
export function openFeed(options: FeedOptions): Feed {
  const { sql, logger, onEvents, onReset, hints = true, lookMs = 1_000, silentMs = longestWaitMs } = options;
  let cursor: string | undefined;
  let serverStartedAt = 0;
  let looking: Promise<void> | undefined;
  let again = false;
  let failing = false;
  let closed = false;
  let source = open();

  const ready = look();
  const timer = setInterval(() => {
    if (source.isSilent(silentMs)) replaceSource();
    void look();
  }, lookMs).unref();

  return {
    ready,
    async close() {
      closed = true;
      clearInterval(timer);
      await Promise.race([looking, sleep(closeMs, undefined, { ref: false })]);
      await Promise.race([source.close(), sleep(closeMs, undefined, { ref: false })]);
    },
  };

  function open(): Source {
    return openSource(sql, hints ? () => void look() : undefined);
  }

  /** A server that vanished without a word would be waited for for ever; the look under way fails with its source. */
  function replaceSource(): void {
    logger.warn('the database is silent; events are read over another connection');
    void source.close().catch(() => {}); // it is gone in any case
    source = open();
  }

  /** One look at a time; who asks meanwhile gets another after it. */
  function look(): Promise<void> {
    if (closed) return Promise.resolve();
    if (looking !== undefined) {
      again = true;
      return looking;
    }
    looking = lookOnce(source.ledger).finally(() => {
      looking = undefined;
      if (!again) return;
      again = false;
      void look();
    });
    return looking;
  }

  async function lookOnce(ledger: Ledger): Promise<void> {
    try {
      const rows = await ledger.eventsRead({ cursor });
      const [first] = rows;
      if (first === undefined) throw new Error('events_read answered nothing');
      const startedAt = first.server_started_at.getTime();
      const anew = first.reset || startedAt !== serverStartedAt;
      cursor = first.cursor;
      serverStartedAt = startedAt;
      failing = false;
      if (anew) await onReset(ledger);
      else await onEvents(first.id === null ? [] : (rows as LedgerEvent[]), ledger);
    } catch (error) {
      // What was read and not told is told with the next look, as part of the state of its task.
      cursor = undefined;
      if (!failing && !closed) {
        const { code, cause } = toPlanledgerError(error, 'read_events', null);
        logger.warn({ code, cause: cause instanceof Error ? cause.name : typeof cause }, 'events cannot be read');
      }
      failing = true;
    }
  }
}
