import { z } from 'zod';
import type { Ledger } from '../../ledger/generated.ts';
import type { Caller } from '../caller.ts';
import { EnvelopeError } from './envelope.ts';

/** What an action has to work with. */
export interface ActionContext {
  ledger: Ledger;
  /** Runs several calls in one transaction, so that what is read is what was written. */
  transaction<T>(work: (ledger: Ledger) => Promise<T>): Promise<T>;
  caller: Caller;
  subscriptions: {
    /** Answers what takes it back. */
    add(taskId: string): () => void;
    remove(taskId: string): void;
  };
}

/** One action of the WebSocket: its payload's form and its call. */
export interface Action {
  /** The payload fields it takes. */
  fields: readonly string[];
  /** Whether it waits for those before it on its connection that do so too. */
  inOrder?: boolean;
  /** @throws EnvelopeError VALIDATION_ERROR, or what the ledger decides. */
  run(context: ActionContext, payload: unknown): Promise<unknown>;
}

type Shape = Record<string, z.ZodType>;

// Today's browsers send these. The author is the caller, whoever a payload names.
const untrusted = {
  author_kind: z.unknown().optional(),
  author_name: z.unknown().optional(),
  created_by: z.unknown().optional(),
  actor: z.unknown().optional(),
};

/** An action that refuses payload fields it does not know: a misspelt one must not pass. */
export function defineAction<S extends Shape>(
  fields: S,
  call: (context: ActionContext, values: z.output<z.ZodObject<S>>) => Promise<unknown>,
): Action {
  return checked(z.strictObject({ ...untrusted, ...fields }), Object.keys(fields), call as Call);
}

/** An action that ignores payload fields it does not know, as browsers of today expect. */
export function defineLenientAction<S extends Shape>(
  fields: S,
  call: (context: ActionContext, values: z.output<z.ZodObject<S>>) => Promise<unknown>,
): Action {
  return checked(z.object(fields), Object.keys(fields), call as Call);
}

type Call = (context: ActionContext, values: unknown) => Promise<unknown>;

function checked(schema: z.ZodType, known: string[], call: Call): Action {
  return {
    fields: known,
    async run(context, payload) {
      const parsed = schema.safeParse(payload);
      if (!parsed.success) throw new EnvelopeError('VALIDATION_ERROR', problem(parsed.error.issues[0], known));
      return call(context, parsed.data);
    },
  };
}

function problem(issue: z.core.$ZodIssue | undefined, known: string[]): string {
  if (issue?.code === 'unrecognized_keys') {
    const key = [...issue.path, (issue.keys[0] ?? '').slice(0, 100)].join('.');
    return `${key} is not a field of this action, which takes ${known.join(', ')}.`;
  }
  return `${issue?.path.join('.') || 'payload'}: ${issue?.message}.`;
}

/** Fields that several actions take. Lengths and sizes are judged in SQL, so no bound stands here. */
export const field = {
  taskId: z.string(),
  text: z.string().nullish(),
  requestId: z.string().optional(),
  version: z.string().nullish(),
  integer: z.int32(),
};
