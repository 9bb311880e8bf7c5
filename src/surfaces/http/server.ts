import type { Socket } from 'node:net';
import { type FastifyInstance, fastify } from 'fastify';
import type { Logger } from 'pino';
import { type TurnStartHook, withTurnStartHooks } from '../../admission/turn-start.ts';
import { createHinter, withHints } from '../../events/hints.ts';
import type { Ledger } from '../../ledger/generated.ts';
import type { Sql } from '../../postgres/connect.ts';
import { type GatewayOptions, gateway } from '../gateway/gateway.ts';
import { attachmentRoutes } from './attachment-routes.ts';
import { healthRoutes, requireReady } from './health.ts';
import { jsonBodyParser, mcpRoute } from './mcp-route.ts';
import { refuseUnreadable, requestRefusal, sendRefusal } from './refusal.ts';

/** @see buildHttpServer */
export interface HttpServerOptions {
  /** Where calls that write go. */
  sql: Sql;
  /** Where the state of the database is read; `sql` when absent. Events have connections of their own. */
  readers?: Sql;
  ledger: Ledger;
  logger: Logger;
  /** Names under which the server may be addressed, without port; localhost, 127.0.0.1 and [::1] when absent. */
  allowedHosts?: string[];
  /** Origins, or host names of origins, whose pages may call; those of localhost when absent. */
  allowedOrigins?: string[];
  /** Milliseconds without a request after which an MCP session is freed; an hour when absent. */
  sessionIdleMs?: number;
  /** How events are read: without hints of other processes what they commit is seen within a second. */
  feed?: GatewayOptions['feed'];
  /** Called before a prompt that came over the WebSocket is accepted; `sql` must then allow two connections or more. */
  hooks?: readonly TurnStartHook[];
  /** Most MCP sessions at once, 1,000 when absent; a new one takes the place of the one idle longest. */
  maxSessions?: number;
}

/**
 * The HTTP server, not listening yet: `/mcp`, `/ws`, `/attachments`, `/healthz`, `/readyz`. Closing it lets calls under way finish, a few
 * seconds at most, and ends every session and stream.
 */
export async function buildHttpServer(options: HttpServerOptions): Promise<FastifyInstance> {
  const { sql, readers = sql, logger, allowedHosts, allowedOrigins, feed } = options;
  const hint = createHinter(readers);
  const ledger = withHints(options.ledger, hint);
  const unanswered = new WeakMap<Socket, number>();
  const app = fastify({
    logger: false,
    forceCloseConnections: true,
    requestTimeout: 120_000,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 2_400 }, // an id of 200 characters, each of four bytes, percent-encoded
    return503OnClosing: false, // it is not in our form
    pluginTimeout: 30_000, // closing takes longer than the 10 s that are usual
    frameworkErrors: (error, _request, reply) => sendRefusal(error, reply, logger),
    clientErrorHandler: (error, socket) => refuseUnreadable(error, socket, countOf(socket) > 0),
  });
  const countOf = (socket: Socket) => unanswered.get(socket) ?? 0;
  app.server.on('request', ({ socket }, response) => {
    unanswered.set(socket, countOf(socket) + 1);
    response.once('close', () => unanswered.set(socket, countOf(socket) - 1));
  });
  app.setErrorHandler((error, _request, reply) => sendRefusal(error, reply, logger));
  app.setNotFoundHandler((_request, reply) =>
    sendRefusal(requestRefusal(404, 'path', 'There is nothing here; MCP is served at /mcp.'), reply, logger),
  );
  let closing = false;
  app.addHook('onRequest', async () => {
    if (closing) throw requestRefusal(503, 'request', 'The server stops.', { 'retry-after': '1', connection: 'close' });
  });
  jsonBodyParser(app);
  healthRoutes(app, () => requireReady(readers, ledger));
  const allowed = { allowedHosts, allowedOrigins };
  const limits = { idleMs: options.sessionIdleMs ?? 3_600_000, max: options.maxSessions ?? 1_000 };
  const hooked = options.hooks?.length ? withTurnStartHooks(ledger, { sql, hooks: options.hooks }) : undefined;
  const surfaces = [
    mcpRoute(app, { ledger, logger }, allowed, limits),
    attachmentRoutes(app, ledger, allowed),
    gateway(app, { sql, readers, ledger: hooked?.ledger ?? ledger, logger, hint, ...(feed && { feed }) }, allowed),
  ];
  app.addHook('preClose', async () => {
    closing = true;
    await Promise.all(surfaces.map((surface) => surface.close()));
    await hooked?.close();
  });
  await app.ready();
  return app;
}
