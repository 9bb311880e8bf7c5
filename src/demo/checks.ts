import { readFile } from 'node:fs/promises';
import type { Delivery, Ledger } from '../ledger/generated.ts';
import { type Cast, firstPlan } from './cast.ts';
import { sessionId } from './delivery.ts';
import { DemoError } from './programs.ts';

/** What has happened, as the programs of the demo know it. */
export interface Happened {
  cast: Cast;
  sections: string[];
  accepted: Delivery;
  repeated: Delivery;
  /** Where the agent wrote what it was sent. */
  record: string;
}

/** Compares what has happened with what the database holds. @returns what holds. @throws DemoError for what does not. */
export async function check(ledger: Ledger, happened: Happened): Promise<string[]> {
  const { cast, sections, accepted, repeated, record } = happened;
  const on = { principal: cast.person, task_id: cast.taskId };
  const holding: string[] = [];
  const expectThat = (holds: boolean, claim: string) => {
    if (!holds) throw new DemoError(`This does not hold: ${claim}.`);
    holding.push(claim);
  };

  const { content = '' } = (await ledger.planGet(on)) ?? {};
  const order = sections.toSorted((a, b) => content.indexOf(a) - content.indexOf(b));
  expectThat(
    content === [firstPlan, ...order].join('\n\n'),
    `each of the ${sections.length} sections is in the plan exactly once, and nothing else is`,
  );
  const authors = new Set((await ledger.revisionList(on)).map(({ author_name }) => author_name));
  expectThat([...authors].sort().join() === 'Ada,Bo,Dana', 'the history names Dana, Ada and Bo, and nobody else');

  const messages = await ledger.messageList({ ...on, session_id: sessionId });
  const said = (role: string, kind: string) =>
    messages.filter((message) => message.role === role && message.kind === kind).map(({ content }) => content);
  const prompts = said('user', 'message');
  const received = (await readFile(record, 'utf8'))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expectThat(received.length === 1, "the agent's process was sent exactly one prompt, although it was sent off twice");
  expectThat(
    prompts.length === 1 && prompts[0] === received[0].prompt && accepted.content === received[0].prompt,
    'what it was sent is, byte for byte, the prompt in the transcript',
  );
  expectThat(
    said('agent', 'thought').join('') === received[0].thought &&
      said('agent', 'message').join('') === received[0].answer,
    'what it thought and answered is in the transcript',
  );
  expectThat(repeated.replayed && repeated.id === accepted.id, 'the repeated request got the answer of the first');
  const receipts = await ledger.receiptList({ ...on, session_id: sessionId });
  expectThat(
    receipts.length === 1 && receipts[0]?.state === 'acknowledged' && receipts[0].attempts === 1,
    'there is one receipt: acknowledged, at the first attempt',
  );
  const { comments } = await ledger.commentList(on);
  expectThat(comments.length === 0, 'the comment is gone from the plan: it went with the prompt');
  return holding;
}
