import type { FastifyRequest } from 'fastify';
import { PlanledgerError } from '../../ledger/errors.ts';
import { discardBody } from './body.ts';
import { Refusal, requestRefusal } from './refusal.ts';

/** A file as it was uploaded, all of it. */
export interface Upload {
  task_id: string;
  name: string;
  media_type: string;
  content: Buffer;
}

/** Longer than any id of a task, in bytes. */
const fieldSize = 1_000;

/**
 * Reads a form of the field `task_id` and one part `file`, in any order. Of a file of more than `maxBytes` no more is
 * kept; what is refused is read to its end like any other body.
 *
 * @throws Refusal also where the form broke off, so that a part of a file is never taken for all of it.
 */
export async function readUpload(request: FastifyRequest, maxBytes: number): Promise<Upload> {
  if (!request.isMultipart()) throw requestRefusal(415, 'content-type', 'A file is sent as multipart/form-data.');
  try {
    return await readForm(request, maxBytes);
  } catch (error) {
    await discardBody(request.raw);
    if (error instanceof Refusal) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'FST_REQ_FILE_TOO_LARGE') throw tooLarge(maxBytes);
    if (code.endsWith('_LIMIT')) throw wrongParts();
    throw requestRefusal(400, 'body', 'The body is no complete multipart/form-data.');
  }
}

async function readForm(request: FastifyRequest, maxBytes: number): Promise<Upload> {
  let task_id: string | undefined;
  let file: Omit<Upload, 'task_id'> | undefined;
  const limits = { parts: 2, fields: 1, files: 1, fieldSize, fileSize: maxBytes };
  // With its path a name is refused; without, it would be altered.
  for await (const part of request.parts({ limits, preservePath: true })) {
    if (part.type === 'file' && part.fieldname === 'file' && part.filename !== undefined) {
      file = { name: part.filename, media_type: part.mimetype, content: await part.toBuffer() };
    } else if (part.type === 'field' && part.fieldname === 'task_id' && !part.valueTruncated) {
      task_id = String(part.value);
    } else {
      throw wrongParts();
    }
  }
  if (task_id === undefined || file === undefined) throw wrongParts();
  return { task_id, ...file };
}

function wrongParts(): Refusal {
  return requestRefusal(
    400,
    'body',
    'An upload has the field task_id and one part file with a file name, and no more.',
  );
}

function tooLarge(maxBytes: number): Refusal {
  return new Refusal(
    413,
    new PlanledgerError('validation_error', `A file has at most ${maxBytes} bytes. Nothing was stored.`, {
      operation: 'stage_attachment',
      nextAction: 'Send a smaller file. The same one will be refused again.',
      details: { argument: 'file', limit_bytes: maxBytes },
    }),
  );
}
