import type { IncomingMessage } from 'node:http';
import { PlanledgerError } from '../../ledger/errors.ts';
import { maxMessageBytes, maxReadBytes } from '../message.ts';
import { Refusal, requestRefusal } from './refusal.ts';

/**
 * The bytes of a request, refused beyond the limit in a way that the client gets to see: one that is still sending does
 * not read an answer, and closing on it loses the answer, so what is too long is read to its end and thrown away.
 */
export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes <= maxMessageBytes) chunks.push(chunk);
      else chunks.length = 0;
      if (bytes > maxReadBytes) break;
    }
  } catch {
    // The client hung up in the middle; nobody reads the answer.
    throw requestRefusal(400, 'body', 'The request ended before its body did.');
  }
  if (bytes > maxMessageBytes) throw new Refusal(413, tooLarge());
  return Buffer.concat(chunks);
}

/** Reads what is left of a body that was refused, and throws it away. */
export async function discardBody(request: IncomingMessage): Promise<void> {
  request.unpipe();
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxReadBytes) break;
    }
  } catch {
    // The client hung up; nobody reads the answer.
  }
}

function tooLarge(): PlanledgerError {
  return new PlanledgerError(
    'plan_content_too_large',
    `A request may have at most ${maxMessageBytes} bytes, which every legal call stays far below. Nothing was stored and the plan is unchanged.`,
    {
      operation: 'request',
      nextAction: 'Send less text. The same request will be refused again.',
      details: { request_limit_bytes: maxMessageBytes },
    },
  );
}
