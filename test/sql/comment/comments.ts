import { randomUUID } from 'node:crypto';
import type { CommentSnapshot, PlanComment } from '../../../src/ledger/generated.ts';
import type { Fixture } from '../../support/fixture.ts';
import type { Planned } from '../plans.ts';

/** The arguments of a creation. */
export interface NewComment {
  principal: string;
  task_id: string;
  plan_id: string;
  comment_id: string;
  body: string;
  selected_text: string;
  anchor_from: number;
  anchor_to: number;
}

/** What a comment is made of, with data of no interest where a test says nothing. */
export function commentOn(cast: Planned, values: Partial<NewComment> = {}): NewComment {
  return {
    principal: cast.user,
    task_id: cast.task,
    plan_id: cast.created.plan_id,
    comment_id: randomUUID(),
    body: 'Why?',
    selected_text: 'this',
    anchor_from: 1,
    anchor_to: 5,
    ...values,
  };
}

/** The pending comments of a task, as its agent sees them. */
export function listComments({ ledger }: Fixture, { agent, task }: Planned): Promise<CommentSnapshot> {
  return ledger.commentList({ principal: agent, task_id: task });
}

/** The one comment of a snapshot with an id. */
export function find(snapshot: CommentSnapshot, id: string): PlanComment {
  const comment = snapshot.comments.find((one) => one.id === id);
  if (comment === undefined) throw new Error(`no comment ${id}`);
  return comment;
}
