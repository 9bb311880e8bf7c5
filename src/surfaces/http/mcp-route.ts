import { createMcpHandler, isInitializeRequest, isLegacyRequest } from '@modelcontextprotocol/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { authenticate, type Caller } from '../caller.ts';
import { createMcpServer, type McpSurface } from '../mcp/server.ts';
import { parseJson, requestIdOf } from '../message.ts';
import { readBody } from './body.ts';
import { type Allowed, requireKnownOrigin } from './origin.ts';
import { requestRefusal, requireToken } from './refusal.ts';
import { trackResponses, whenGone } from './responses.ts';
import { createSessions, type SessionLimits } from './sessions.ts';

/**
 * `/mcp`, Streamable HTTP. Clients of the 2026-07-28 protocol carry everything in each request and need no session;
 * older ones open a session. The SDK says which is which.
 */
export function mcpRoute(
  app: FastifyInstance,
  services: Omit<McpSurface, 'caller'>,
  allowed: Allowed,
  limits: SessionLimits,
): { close(): Promise<void> } {
  const surface: McpSurface = {
    ...services,
    // Looked up when the HTTP request came, before anything of it was read.
    caller: async ({ http }) => http?.authInfo?.extra?.caller as Caller,
  };
  const sessions = createSessions(surface, limits);
  const closing = new AbortController();
  const gone: McpSurface['gone'] = ({ mcpReq }) => AbortSignal.any([mcpReq.signal, closing.signal]);
  const stateless = createMcpHandler(() => createMcpServer({ ...surface, gone }), {
    legacy: 'reject',
    maxSubscriptions: limits.max,
    onerror: (error) => services.logger.debug({ cause: error.name }, 'protocol error'),
  });
  const responses = trackResponses();
  const callers = new WeakMap<FastifyRequest, Caller>();

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    async onRequest(request) {
      requireKnownOrigin(request, allowed);
      callers.set(request, await authenticate(services.ledger, requireToken(request)));
    },
    async handler(request, reply) {
      responses.add(reply.raw);
      const response = await answer(request, reply);
      if (!isEventStream(response)) return response;
      responses.becameStream(reply.raw);
      return opened(response);
    },
  });

  return {
    async close() {
      await responses.callsFinished(5_000);
      closing.abort();
      const sessionsClosed = sessions.close();
      await responses.callsFinished(1_000);
      await Promise.all([sessionsClosed, stateless.close()]);
      await responses.streamsFinished(1_000);
    },
  };

  async function answer(request: FastifyRequest, reply: FastifyReply): Promise<Response> {
    const caller = callers.get(request) as Caller;
    const auth = { token: '', clientId: caller.token_id, scopes: caller.scopes, extra: { caller } };
    const message = webRequest(request, reply);
    if (request.method !== 'POST') {
      requireSessionHeader(request);
      return sessions.use(message, undefined, auth);
    }
    const parsed = parseJson(request.body as Buffer);
    if (parsed.problem !== undefined) return rpcError(-32700, parsed.problem, parsed.value);
    const body = parsed.value;
    if (typeof body !== 'object' || body === null) return rpcError(-32600, 'This is not a JSON-RPC message.');
    if (!(await isLegacyRequest(message, body))) {
      const response = await stateless.fetch(message, { parsedBody: body, authInfo: auth });
      if (isEventStream(response)) endAfter(reply, limits.idleMs);
      return response;
    }
    if (request.headers['mcp-session-id'] === undefined && isInitializeRequest(body)) {
      return sessions.open(message, body, auth);
    }
    requireSessionHeader(request);
    return sessions.use(message, body, auth);
  }
}

/** An event stream says something at once: Node sends headers with the first bytes, and a client waits for them. */
function opened(response: Response): Response {
  const first = new TextEncoder().encode(': open\n\n');
  const stream = new TransformStream<Uint8Array, Uint8Array>({ start: (controller) => controller.enqueue(first) });
  return new Response(response.body?.pipeThrough(stream) ?? null, response);
}

/** The body arrives as bytes: its UTF-8 is checked before anything reads it. */
export function jsonBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request: FastifyRequest) => readBody(request.raw));
}

function requireSessionHeader(request: FastifyRequest): void {
  if (request.headers['mcp-session-id'] !== undefined) return;
  throw requestRefusal(400, 'Mcp-Session-Id', 'The request names no session. Begin one with initialize.');
}

function webRequest(request: FastifyRequest, reply: FastifyReply): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined && name !== 'authorization') headers.set(name, String(value));
  }
  return new Request('http://localhost/mcp', { method: request.method, headers, signal: whenGone(reply.raw) });
}

/** Nothing but its end looks at the token of a stream again: one outside a session lasts as long as an idle session. */
function endAfter(reply: FastifyReply, ms: number): void {
  const timer = setTimeout(() => reply.raw.destroy(), ms).unref();
  reply.raw.once('close', () => clearTimeout(timer));
}

function isEventStream(response: Response): boolean {
  return response.headers.get('content-type') === 'text/event-stream';
}

function rpcError(code: number, message: string, about?: unknown): Response {
  return Response.json({ jsonrpc: '2.0', id: requestIdOf(about), error: { code, message } }, { status: 400 });
}
