import type { LedgerEvent } from '../../events/feed.ts';
import { PlanledgerError } from '../../ledger/errors.ts';
import type { Ledger } from '../../ledger/generated.ts';
import { notification } from './envelope.ts';

/** The kinds of events about sessions, their transcripts and their queues. */
export const sessionKinds: readonly string[] = ['session.changed', 'message.added', 'queue.changed'];

interface By {
  principal: string;
  task_id: string;
}

/**
 * The notifications of events about sessions, in their order; a session or a queue that changed several times is told
 * once, at its last change. Where something was missed, all sessions of the task and their queues are told instead, and
 * whatever messages the events name. What is gone by now is not told.
 */
export async function sessionFrames(ledger: Ledger, by: By, rows: LedgerEvent[], missed: boolean): Promise<string[]> {
  const changed = missed || rows.some(({ kind }) => kind === 'session.changed');
  const sessions = changed ? await ledger.sessionList(by) : [];
  const messageFrames = (row: LedgerEvent) => messageFrame(ledger, by, row.message_id);
  if (missed) {
    const queues = sessions.map(({ id }) => queueFrame(ledger, by, id));
    const messages = rows.filter(({ kind }) => kind === 'message.added').map(messageFrames);
    return [...sessions.map(sessionFrame), ...(await Promise.all([...messages, ...queues])).flat()];
  }

  const last = new Map(rows.map((row) => [`${row.kind} ${row.session_id}`, row.id]));
  const frames = rows.map((row): string[] | Promise<string[]> => {
    if (row.kind === 'message.added') return messageFrames(row);
    if (last.get(`${row.kind} ${row.session_id}`) !== row.id) return [];
    if (row.kind === 'queue.changed') return queueFrame(ledger, by, row.session_id);
    return sessions.filter(({ id }) => id === row.session_id).map(sessionFrame);
  });
  return (await Promise.all(frames)).flat();
}

function sessionFrame(session: object): string {
  return notification('task.session.changed', session);
}

async function messageFrame(ledger: Ledger, by: By, message_id: string | null): Promise<string[]> {
  const message = await ledger.messageGet({ ...by, message_id });
  return message === null ? [] : [notification('session.message.added', message)];
}

async function queueFrame(ledger: Ledger, by: By, session_id: string | null): Promise<string[]> {
  try {
    return [notification('message.queue.status_changed', await ledger.queueGet({ ...by, session_id }))];
  } catch (error) {
    if (error instanceof PlanledgerError && error.code === 'session_not_found') return [];
    throw error;
  }
}
