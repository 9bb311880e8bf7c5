import { randomUUID } from 'node:crypto';
import { type AuthInfo, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { createMcpServer, type McpSurface } from '../mcp/server.ts';
import { requestRefusal } from './refusal.ts';

interface Session {
  tokenId: string;
  transport: WebStandardStreamableHTTPServerTransport;
  /** Fires when the session has had no request for the idle time. */
  idle: NodeJS.Timeout;
  /** When the last request came, in milliseconds of a monotonic clock. */
  usedAt: number;
  /** Calls under way: how each is answered should the session end first. */
  waiting: Set<(response: Response) => void>;
  /** JSON-RPC ids of calls under way: the SDK tells answers apart by them. */
  ids: Set<unknown>;
}

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
  /** Ends every session and stream. */
  close(): Promise<void>;
}

export function createSessions(surface: McpSurface, limits: SessionLimits): Sessions {
  const sessions = new Map<string, Session>();

  return {
    async open(request, body, auth) {
      if (sessions.size >= limits.max) makeRoom();
      const id = randomUUID();
      const server = createMcpServer(surface);
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
        waiting: new Set(),
        ids: new Set(),
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
      const ids = requestIds(body);
      if (new Set(ids).size < ids.length || ids.some((one) => session.ids.has(one))) {
        throw requestRefusal(400, 'id', 'The JSON-RPC id belongs to a call that is not answered yet. Use another one.');
      }
      for (const one of ids) session.ids.add(one);
      try {
        return await handle(session, request, body, auth);
      } finally {
        for (const one of ids) session.ids.delete(one);
        if (request.method === 'DELETE') await end(id);
      }
    },
    async close() {
      await Promise.all([...sessions.keys()].map(end));
    },
  };

  /** The SDK's answer, or 404 when the session ends before there is one. */
  async function handle(session: Session, request: Request, body: unknown, auth: AuthInfo): Promise<Response> {
    const { promise: ended, resolve } = Promise.withResolvers<Response>();
    session.waiting.add(resolve);
    // A client that hangs up or cancels gets no answer from the SDK; its call must not keep the session for ever.
    request.signal.addEventListener('abort', () => resolve(new Response(null, { status: 499 })), { once: true });
    try {
      return await Promise.race([
        session.transport.handleRequest(request, { parsedBody: body, authInfo: auth }),
        ended,
      ]);
    } finally {
      session.waiting.delete(resolve);
    }
  }

  function onIdle(id: string): void {
    const session = sessions.get(id);
    if (session === undefined) return;
    if (session.waiting.size > 0) session.idle.refresh();
    else void end(id);
  }

  function makeRoom(): void {
    const free = [...sessions].filter(([, { waiting }]) => waiting.size === 0);
    const idlest = free.sort(([, a], [, b]) => a.usedAt - b.usedAt)[0];
    if (idlest === undefined) {
      throw requestRefusal(503, 'session', 'Every session this server may hold is in use.', { 'retry-after': '1' });
    }
    void end(idlest[0]);
  }

  async function end(id: string): Promise<void> {
    const session = sessions.get(id);
    if (session === undefined) return;
    sessions.delete(id);
    clearTimeout(session.idle);
    const { error } = unknownSession();
    for (const answer of session.waiting) answer(Response.json(error.toJSON(), { status: 404 }));
    await session.transport.close();
  }
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
