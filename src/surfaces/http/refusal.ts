import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply } from 'fastify';
import type { Logger } from 'pino';
import { errorTable, PlanledgerError, toPlanledgerError, validationError } from '../../ledger/errors.ts';
import { bearerToken } from '../caller.ts';
import { logFailure } from '../log-failure.ts';

/** A request that is refused before MCP sees it: an HTTP status with the error every surface sends. */
export class Refusal extends Error {
  readonly status: number;
  readonly error: PlanledgerError;
  readonly headers: Record<string, string>;

  constructor(status: number, error: PlanledgerError, headers: Record<string, string> = {}) {
    super(error.message);
    this.status = status;
    this.error = error;
    this.headers = headers;
  }
}

/** A refusal of something about the request itself, such as a header. */
export function requestRefusal(
  status: number,
  part: string,
  problem: string,
  headers?: Record<string, string>,
): Refusal {
  return new Refusal(status, validationError(part, problem, 'request'), headers);
}

/** The token of a request over HTTP. @throws PlanledgerError `unauthenticated` */
export function requireToken({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const token = bearerToken(headers);
  if (token !== undefined) return token;
  throw unauthenticated('Send the header Authorization: Bearer TOKEN.');
}

/** A request without a token. */
export function unauthenticated(nextAction: string): PlanledgerError {
  return new PlanledgerError('unauthenticated', 'The request carries no access token.', {
    operation: 'authenticate',
    nextAction: `${nextAction} An administrator makes a token with \`planledger token create\`.`,
  });
}

/** Answers whatever a route threw, as JSON, and shows nothing of an error that is not ours. */
export function sendRefusal(thrown: unknown, reply: FastifyReply, logger: Logger): FastifyReply {
  const refusal = toRefusal(thrown);
  logFailure(logger, refusal.error);
  return reply.code(refusal.status).headers(refusal.headers).send(refusal.error.toJSON());
}

/**
 * Answers what is not even a request, in the same form, and ends the connection. Where a request before it is not
 * answered yet, this would be read as its answer: then the connection only ends.
 */
export function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket, answering: boolean): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return; // nobody is there
  const [status, problem] = unreadable[error.code ?? ''] ?? [400, 'This is not an HTTP request.'];
  if (socket.writable && !answering) socket.write(rawResponse(requestRefusal(status, 'request', problem)));
  socket.destroy(error);
}

/** A refusal as it is sent where no response object exists; the connection ends after it. */
export function rawResponse({ status, error, headers }: Refusal): string {
  const body = JSON.stringify(error.toJSON());
  const lines = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...headers,
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`;
}

const unreadable: Record<string, [status: number, problem: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: [431, 'The headers of the request are too long.'],
};

/** What a request is refused with for whatever was thrown. */
export function toRefusal(thrown: unknown): Refusal {
  if (thrown instanceof Refusal) return thrown;
  const status = thrown instanceof Error && 'statusCode' in thrown ? Number(thrown.statusCode) : 500;
  if (status >= 400 && status < 500 && thrown instanceof Error) {
    // Fastify's own, about the form of the request.
    return requestRefusal(status, 'request', thrown.message);
  }
  const error = toPlanledgerError(thrown, 'request', null);
  const { httpStatus } = errorTable[error.code];
  const headers: Record<string, string> = {};
  if (error.code === 'unauthenticated') headers['www-authenticate'] = 'Bearer';
  if (httpStatus === 503) headers['retry-after'] = '1';
  return new Refusal(httpStatus, error, headers);
}
