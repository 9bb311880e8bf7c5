import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type AuthInfo,
  SUPPORTED_PROTOCOL_VERSIONS,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { connectionLost } from '../../ledger/errors.ts';
import { createMcpServer, type McpSurface } from '../mcp/server.ts';
import { requestRefusal } from './refusal.ts';

interface Session {
  tokenId: string;
  transport: WebStandardStreamableHTTPServerTransport;
  /** Fires when the session has had no request for the idle time. */
  idle: NodeJS.Timeout;
  /** When the last request came, in milliseconds of a monotonic clock. */
  usedAt: number;
  /** Requests that are not answered yet: the answer of each, and how it is given another. */
  underWay: Map<Promise<Response>, (response: Response) => void>;
  /** Calls under way by their JSON-RPC ids, by which the SDK tells answers apart; what cancels each. */
  calls: Map<unknown, AbortController>;
}

/** How long calls that were cancelled may take to say what became of them, in milliseconds. */
const settleMs = 2_000;

/** How many sessions there may be and for how long. */
export interface SessionLimits {
  /** Milliseconds without a request after which a session is freed, with its stream. */
  idleMs: number;
  /** At this many, a new session takes the place of the one that has been idle longest. */
  max: number;
}

/**
 * The sessions of clients that speak the protocol of 2025: state in memory only, nothing in the database and no
 * connection to it. A client whose session is gone gets 404 and begins a new one.
 */
export interface Sessions {
  /** Answers a request that opens a session. */
  open(request: Request, body: unknown, auth: AuthInfo): Promise<Response>;
  /** Answers a request within the session that its header names. */
  use(request: Request, body: unknown, auth: AuthInfo): Promise<Response>;
  /** Ends every session and stream, once the calls of each have said what became of them. */
  close(): Promise<void>;
}

export function createSessions(surface: McpSurface, limits: SessionLimits): Sessions {
  const sessions = new Map<string, Session>();

  return {
    async open(request, body, auth) {
      if (sessions.size >= limits.max) makeRoom();
      const id = randomUUID();
      const calls: Session['calls'] = new Map();
      const server = createMcpServer({
        ...surface,
        gone({ mcpReq }) {
          const call = calls.get(mcpReq.id);
          return call === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, call.signal]);
        },
      });
      // Nothing here streams: an answer is one JSON body, which costs less than an event stream.
      const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => id,
        enableJsonResponse: true,
      });
      await server.connect(transport);
      const idle = setTimeout(() => onIdle(id), limits.idleMs).unref();
      const session: Session = {
        tokenId: auth.clientId,
        transport,
        idle,
        usedAt: performance.now(),
        underWay: new Map(),
        calls,
      };
      sessions.set(id, session);
      const response = await handle(session, request, body, auth);
      if (transport.sessionId === undefined) await end(id); // the SDK refused to begin it
      return response;
    },
    async use(request, body, auth) {
      const id = request.headers.get('mcp-session-id') ?? '';
      const session = sessions.get(id);
      if (session === undefined || session.tokenId !== auth.clientId) throw unknownSession();
      session.usedAt = performance.now();
      session.idle.refresh();
      if (request.method === 'DELETE' && isSupported(request)) {
        await retire(id);
        try {
          return await handle(session, request, body, auth);
        } finally {
          await session.transport.close();
        }
      }
      const { cancelled, others } = withoutCancellations(body);
      for (const one of cancelled) session.calls.get(one)?.abort();
      if (cancelled.length > 0 && others === undefined) return new Response(null, { status: 202 });
      const ids = requestIds(others);
      if (new Set(ids).size < ids.length || ids.some((one) => session.calls.has(one))) {
        throw requestRefusal(400, 'id', 'The JSON-RPC id belongs to a call that is not answered yet. Use another one.');
      }
      for (const one of ids) session.calls.set(one, abortedBy(request.signal));
      try {
        return await handle(session, request, others, auth);
      } finally {
        for (const one of ids) session.calls.delete(one);
      }
    },
    async close() {
      await Promise.all([...sessions.keys()].map(end));
    },
  };

  async function handle(session: Session, request: Request, body: unknown, auth: AuthInfo): Promise<Response> {
    const { promise: given, resolve: give } = Promise.withResolvers<Response>();
    const answer = Promise.race([
      session.transport.handleRequest(request, { parsedBody: body, authInfo: auth }),
      given,
    ]);
    session.underWay.set(answer, give);
    try {
      return await answer;
    } finally {
      session.underWay.delete(answer);
    }
  }

  function onIdle(id: string): void {
    const session = sessions.get(id);
    if (session === undefined) return;
    if (session.underWay.size > 0) session.idle.refresh();
    else void end(id);
  }

  function makeRoom(): void {
    const free = [...sessions].filter(([, { underWay }]) => underWay.size === 0);
    const idlest = free.sort(([, a], [, b]) => a.usedAt - b.usedAt)[0];
    if (idlest === undefined) {
      throw requestRefusal(503, 'session', 'Every session this server may hold is in use.', { 'retry-after': '1' });
    }
    void end(idlest[0]);
  }

  async function end(id: string): Promise<void> {
    const session = sessions.get(id);
    await retire(id);
    await session?.transport.close();
  }

  /** The session takes no further request; its calls are cancelled, and each has said what became of it. */
  async function retire(id: string): Promise<void> {
    const session = sessions.get(id);
    if (session === undefined) return;
    sessions.delete(id);
    clearTimeout(session.idle);
    for (const call of session.calls.values()) call.abort();
    const settled = Promise.allSettled(session.underWay.keys());
    await Promise.race([settled, sleep(settleMs, undefined, { ref: false })]);
    // The database is silent: nobody knows what became of these.
    for (const give of session.underWay.values()) give(Response.json(connectionLost().toJSON(), { status: 503 }));
  }
}

/** Whether the SDK would take a request of this protocol version; one that it refuses ends no session. */
function isSupported({ headers }: Request): boolean {
  const version = headers.get('mcp-protocol-version');
  return version === null || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
}

/**
 * The ids of the calls that a message cancels, and the rest of it. The SDK, told of a cancellation, would never answer
 * the call's request; so we cancel the call, and its refusal is the answer.
 */
function withoutCancellations(body: unknown): { cancelled: unknown[]; others: unknown } {
  const cancelled: unknown[] = [];
  const others: unknown[] = [];
  for (const message of Array.isArray(body) ? body : [body]) {
    const notification = cancellation.safeParse(message);
    if (notification.success) cancelled.push(notification.data.params.requestId);
    else others.push(message);
  }
  if (cancelled.length === 0) return { cancelled, others: body };
  return { cancelled, others: others.length === 0 ? undefined : others };
}

const cancellation = z.object({
  id: z.undefined().optional(), // with one it is a request, and unknown
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
});

/** A controller that also fires when the client hangs up. */
function abortedBy(signal: AbortSignal): AbortController {
  const controller = new AbortController();
  if (signal.aborted) controller.abort();
  else signal.addEventListener('abort', () => controller.abort(), { once: true });
  return controller;
}

/** The ids of the calls in a message; notifications and answers have none. */
function requestIds(body: unknown): unknown[] {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  return messages.flatMap((message) =>
    typeof message === 'object' && message !== null && 'id' in message && 'method' in message ? [message.id] : [],
  );
}

function unknownSession() {
  return requestRefusal(404, 'Mcp-Session-Id', 'There is no such session. Begin a new one with initialize.');
}
