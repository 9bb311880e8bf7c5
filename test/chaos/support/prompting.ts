import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../../src/client/index.ts';
import type { Ledger } from '../../../src/ledger/generated.ts';
import { pick } from './fleet.ts';

/** Two ways to one service: the gateway's actions and the database's functions. Each throws errors with a code. */
export interface Service {
  comment(on: OnPlan, id: string, body: string): Promise<unknown>;
  send(action: 'message' | 'queue', prompt: Prompt, clientId: string): Promise<{ replayed: boolean }>;
}

interface OnPlan {
  task_id: string;
  plan_id: string;
}

interface Prompt {
  task_id: string;
  session_id: string;
  content: string;
  plan_comment_refs: { id: string; version: number }[];
}

/** What became of the requests, as their senders were told. */
export interface Told {
  /** Ids of prompts that were accepted, with the ids of the comments they named. */
  accepted: Map<string, string[]>;
  refused: Set<string>;
  /** Ids of comments that were made. */
  comments: Set<string>;
  /** Requests whose connection went before the answer, and how many of those had been carried out. */
  interrupted: number;
  replayed: number;
}

const about = { selected_text: 'plan', anchor_from: 0, anchor_to: 4 };
const gone = new Set(['connection_lost', 'database_unavailable', 'plan_busy']);

export function toldNothing(): Told {
  return { accepted: new Map(), refused: new Set(), comments: new Set(), interrupted: 0, replayed: 0 };
}

export function ledgerService(ledger: Ledger, principal: string): Service {
  return {
    comment: (on, comment_id, body) => ledger.commentCreate({ principal, ...on, comment_id, body, ...about }),
    send: (action, prompt, id) =>
      action === 'message'
        ? ledger.messageAdd({ principal, ...prompt, client_message_id: id })
        : ledger.queueAdd({ principal, ...prompt, client_queue_id: id }),
  };
}

export function gatewayService(client: Client): Service {
  return {
    comment: (on, id, body) => client.request('task.plan.comments.create', { ...on, id, body, ...about }),
    send: (action, prompt, id) =>
      action === 'message'
        ? client.request('message.add', { ...prompt, client_message_id: id })
        : client.request('message.queue.add', { ...prompt, client_queue_id: id }),
  };
}

/**
 * Sends prompts to one session, one after another, until `over`: most name a comment, and some of those are two that
 * name the same. Each is repeated, with its id, until there is an answer.
 *
 * @param pauseMs How long there is none to send, at most.
 */
export async function keepPrompting(
  service: Service,
  { plan_id, ...on }: OnPlan & { session_id: string },
  told: Told,
  over: () => boolean,
  pauseMs = 400,
): Promise<void> {
  while (!over()) {
    const comments = Math.random() < 0.7 ? [randomUUID()] : [];
    for (const comment of comments) {
      await answered(() => service.comment({ task_id: on.task_id, plan_id }, comment, `comment-${comment}`));
      told.comments.add(comment);
    }
    await sleep(Math.random() * pauseMs);
    const rivals = comments.length > 0 && Math.random() < 0.3 ? 2 : 1;
    await Promise.all(Array.from({ length: rivals }, () => prompt(comments)));
  }

  async function prompt(comments: string[]): Promise<void> {
    const id = randomUUID();
    const refs = comments.map((comment) => ({ id: comment, version: 1 }));
    const asked = { ...on, content: `prompt-${id}`, plan_comment_refs: refs };
    let action = pick(['message', 'queue'] as const);
    while (!told.accepted.has(id) && !told.refused.has(id)) {
      try {
        const { replayed } = await answered(() => service.send(action, asked, id));
        told.accepted.set(id, comments);
        if (replayed) told.replayed += 1;
      } catch (error) {
        const { code } = error as { code: string };
        const waits = code === 'queue_full' || code === 'session_not_promptable';
        if (code === 'plan_comments_changed' || (waits && over())) told.refused.add(id);
        else if (code === 'session_not_promptable') action = 'queue';
        else if (code === 'queue_full') await sleep(20);
        else throw error;
      }
    }
  }

  async function answered<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!gone.has((error as { code: string }).code)) throw error;
        told.interrupted += 1;
      }
      await sleep(20);
    }
  }
}
