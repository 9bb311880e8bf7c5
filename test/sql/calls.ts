import { randomUUID } from 'node:crypto';
import { type Ledger, signatures } from '../../src/ledger/generated.ts';
import type { Planned } from './plans.ts';

/** A method of the facade as a test calls many of them. */
export type Call = (values: Record<string, unknown>) => Promise<unknown>;

/** Arguments for a method about the task of `cast`, by its user, that have the right form. */
export function argumentsOf(
  method: keyof Ledger,
  cast: Planned,
  change: Record<string, unknown> = {},
): Record<string, unknown> {
  const all: Record<string, unknown> = {
    principal: cast.user,
    task_id: cast.task,
    content: 'x',
    fragment: 'x',
    old_text: 'a',
    new_text: 'x',
    revision_id: cast.created.revision_id,
    expected_version: method.startsWith('comment') ? 1 : cast.created.version,
    expected_revision_version: 'x',
    session_id: cast.session,
    plan_id: cast.created.plan_id,
    comment_id: randomUUID(),
    body: 'x',
    selected_text: 'a',
    anchor_from: 0,
    anchor_to: 1,
    name: 'x',
    state: 'RUNNING',
    client_message_id: 'm',
    client_queue_id: 'q',
    entry_id: randomUUID(),
    entry_ids: [randomUUID()],
    auto_run: false,
    receipt_id: randomUUID(),
    media_type: 'text/plain',
    ...change,
  };
  const taken: readonly string[] = signatures[method].arguments;
  return Object.fromEntries(Object.entries(all).filter(([name]) => taken.includes(name)));
}
