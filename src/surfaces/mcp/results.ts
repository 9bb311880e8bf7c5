import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import type { PlanledgerError } from '../../ledger/errors.ts';
import type { PlanWriteAck } from '../../ledger/generated.ts';

type Schema = NonNullable<Tool['outputSchema']>;

const text = { type: 'string' };
const count = { type: 'integer' };
const flag = { type: 'boolean' };

/** A type or null, in the form that most clients understand. */
export const nullable = (type: string, description?: string) => ({
  anyOf: [{ type }, { type: 'null' }],
  ...(description === undefined ? {} : { description }),
});

/**
 * The schema of a result that also admits the error of every tool: some clients hold errors against it as well, and
 * would show that complaint instead of ours.
 */
export function resultSchema(properties: Record<string, unknown>): Schema {
  return {
    type: 'object',
    anyOf: [
      { type: 'object', properties, required: Object.keys(properties), additionalProperties: false },
      {
        type: 'object',
        description: 'A refusal. Counts, versions and the argument concerned stand beside these fields.',
        properties: {
          code: text,
          message: text,
          operation: text,
          task_id: nullable('string'),
          write_applied: { enum: [false, 'unknown'] },
          next_action: text,
        },
        required: ['code', 'message', 'task_id', 'operation', 'write_applied', 'next_action'],
      },
    ],
  };
}

/** What every write tool answers. */
export const acknowledgementSchema = resultSchema({
  outcome: { ...text, description: 'created, replaced, appended, edited, restored or already_current' },
  task_id: text,
  plan_id: text,
  title: text,
  content_bytes: { ...count, description: 'UTF-8 bytes of the whole stored document after this write' },
  content_chars: { ...count, description: 'characters of the whole stored document after this write' },
  revision_number: count,
  revision_id: text,
  version: { ...text, description: 'the version this write made; send it as expected_version of the next' },
  coalesced: { ...flag, description: 'true when the write was merged into the latest revision' },
  replayed: { ...flag, description: 'true when request_id was seen before, and nothing was written again' },
});

const outcomes: Record<string, string> = {
  created: 'The plan was created.',
  replaced: 'The plan was replaced with the text you sent.',
  appended: 'Your addition was appended to the plan.',
  edited: 'The fragment was replaced; the rest of the plan is as it was.',
  restored: 'The revision was restored as the current plan.',
  already_current: 'The plan already equals that revision; nothing was written.',
};

/** The acknowledgement of a write: never its text. */
export function acknowledgement(ack: PlanWriteAck): CallToolResult {
  const replayed = ack.replayed
    ? ['This request_id was used before: this is its first answer, nothing was written now.']
    : [];
  return structured([outcomes[ack.outcome] ?? ack.outcome, ...replayed], { ...ack });
}

/** A result whose text says the same as its fields, for clients that show only one of the two. */
export function structured(sentences: string[], fields: Record<string, unknown>): CallToolResult {
  return {
    content: [{ type: 'text', text: [...sentences, ...lines(fields)].join('\n') }],
    structuredContent: fields,
  };
}

/** Metadata as a JSON block, then the exact text of a document as a block of its own, and nowhere else. */
export function document(metadata: Record<string, unknown>, content: string): CallToolResult {
  return {
    content: [
      { type: 'text', text: JSON.stringify(metadata, null, 2) },
      { type: 'text', text: content },
    ],
  };
}

const told = new Set(['code', 'message', 'task_id', 'operation', 'write_applied', 'next_action', 'problem']);

/** A refusal as a result: clients show these to the model, and protocol errors often not. */
export function refusal(error: PlanledgerError): CallToolResult {
  const fields = error.toJSON();
  const facts = Object.fromEntries(Object.entries(fields).filter(([name]) => !told.has(name)));
  const written =
    error.writeApplied === 'unknown'
      ? 'Whether anything was written is not known.'
      : 'Nothing was written by this call.';
  return {
    isError: true,
    content: [
      {
        type: 'text',
        text: [
          `Refused (${error.code}, ${error.operation}): ${error.message}`,
          written,
          `Next: ${error.nextAction}`,
          ...lines(facts),
        ].join('\n'),
      },
    ],
    structuredContent: fields,
  };
}

function lines(fields: Record<string, unknown>): string[] {
  return Object.entries(fields).map(
    // A title is somebody's text, and must not look like lines of ours.
    ([name, value]) =>
      `${name}: ${typeof value === 'string' && !/\p{Cc}/u.test(value) ? value : JSON.stringify(value)}`,
  );
}
