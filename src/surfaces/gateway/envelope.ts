import { z } from 'zod';
import type { PlanledgerError } from '../../ledger/errors.ts';

/** What the gateway itself finds wrong with a request, before the ledger is asked. */
export type EnvelopeCode = 'BAD_REQUEST' | 'VALIDATION_ERROR' | 'UNAUTHORIZED' | 'UNKNOWN_ACTION' | 'INTERNAL_ERROR';

/** A fault of the request's form; everything the ledger decides is a `PlanledgerError`. */
export class EnvelopeError extends Error {
  readonly code: EnvelopeCode;

  constructor(code: EnvelopeCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type RequestId = string | number;

const requestSchema = z.object({
  id: z.union([z.string().min(1).max(200), z.number()]),
  type: z.literal('request'),
  action: z.string().max(200),
  payload: z.record(z.string(), z.unknown()).nullish(),
});

/** A request as a client sent it, its payload not looked at yet. */
export type Request = z.infer<typeof requestSchema>;

/** @throws EnvelopeError BAD_REQUEST */
export function readRequest(value: unknown): Request {
  const parsed = requestSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new EnvelopeError(
    'BAD_REQUEST',
    'A request is an object with id (text or number), type "request", action (text) and payload (an object).',
  );
}

/** The id and action of what may be no request, so far as they can be told. */
export function addressOf(value: unknown): { id: RequestId | null; action: string | null } {
  const { id, action } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return {
    id: (typeof id === 'string' && id.length <= 200) || typeof id === 'number' ? id : null,
    action: typeof action === 'string' && action.length <= 200 ? action : null,
  };
}

export function response(id: RequestId, action: string, payload: unknown): string {
  return JSON.stringify({ id, type: 'response', action, payload, timestamp: new Date().toISOString() });
}

export function notification(action: string, payload: unknown): string {
  return JSON.stringify({ id: null, type: 'notification', action, payload, timestamp: new Date().toISOString() });
}

/** @param snapshot What a client whose comments are stale needs; it was read after the refusal. */
export function errorFrame(
  { id, action }: { id: RequestId | null; action: string | null },
  error: EnvelopeError | PlanledgerError,
  snapshot?: unknown,
): string {
  const payload = {
    code: error.code,
    message: error.message,
    ...(error instanceof EnvelopeError
      ? {}
      : { details: { ...error.toJSON(), ...(snapshot === undefined ? {} : { snapshot }) } }),
  };
  return JSON.stringify({ id, type: 'error', action, payload, timestamp: new Date().toISOString() });
}
