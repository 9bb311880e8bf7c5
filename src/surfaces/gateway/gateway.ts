import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { type WebSocket, WebSocketServer } from 'ws';
import { type FeedOptions, openFeed } from '../../events/feed.ts';
import type { Ledger } from '../../ledger/generated.ts';
import { inTransaction } from '../../ledger/ledger.ts';
import type { Sql } from '../../postgres/connect.ts';
import { authenticate, bearerToken } from '../caller.ts';
import { type Allowed, requireKnownOrigin } from '../http/origin.ts';
import { type Refusal, rawResponse, requestRefusal, toRefusal, unauthenticated } from '../http/refusal.ts';
import { until } from '../http/responses.ts';
import { maxMessageBytes } from '../message.ts';
import { commentActions } from './actions/comment.ts';
import { messageActions } from './actions/message.ts';
import { pingActions } from './actions/ping.ts';
import { planActions } from './actions/plan.ts';
import { queueActions } from './actions/queue.ts';
import { sessionActions } from './actions/session.ts';
import { taskActions } from './actions/task.ts';
import { closeCode, type GatewayServices, serveConnection } from './connection.ts';
import { createNotifier } from './notify.ts';
import { createSubscriptions } from './subscriptions.ts';

/** @see gateway */
export interface GatewayOptions {
  /** Where calls that write go, and transactions. */
  sql: Sql;
  /** A pool with the settings of the connections over which events are read. */
  readers: Sql;
  ledger: Ledger;
  logger: Logger;
  /** How events are read, where it is to be otherwise than usual. */
  feed?: Pick<FeedOptions, 'hints' | 'silentMs'>;
  /** Called after every write. */
  hint(): void;
}

const protocol = 'planledger.v1';
const bearer = 'bearer.';
const aliveMs = 30_000;
const answerMs = 5_000;
const closeMs = 1_000;

/** `/ws`: the surface for people's pages and for programs that want to be told of changes. */
export function gateway(app: FastifyInstance, options: GatewayOptions, allowed: Allowed): { close(): Promise<void> } {
  const { sql, ledger, logger, hint } = options;
  const subscriptions = createSubscriptions();
  const services: GatewayServices = {
    closing: false,
    inFlight: 0,
    ledger,
    logger,
    subscriptions,
    actions: {
      ...pingActions,
      ...taskActions,
      ...planActions,
      ...commentActions,
      ...sessionActions,
      ...messageActions,
      ...queueActions,
    },
    async transaction<T>(work: (ledger: Ledger) => Promise<T>, signal: AbortSignal): Promise<T> {
      const answer = await inTransaction(sql, signal, (transaction) => work(transaction.ledger));
      hint();
      return answer;
    },
  };
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
  });
  const notifier = createNotifier(subscriptions, logger);
  const feed = openFeed({
    sql: options.readers,
    logger,
    ...options.feed,
    onEvents: notifier.tell,
    onReset: notifier.tellAnew,
  });
  const answered = new WeakSet<WebSocket>();
  const alive = setInterval(() => {
    for (const socket of server.clients) {
      // One whose requests wait is not read from, and cannot be heard.
      if (!answered.delete(socket) && !socket.isPaused) socket.terminate();
      else socket.ping();
    }
  }, aliveMs).unref();

  app.server.on('upgrade', upgrade);
  return {
    async close() {
      app.server.off('upgrade', upgrade);
      clearInterval(alive);
      services.closing = true;
      await until(answerMs, () => services.inFlight === 0);
      await feed.close();
      for (const socket of server.clients) socket.close(closeCode.restart, 'the server stops; connect again');
      await until(closeMs, () => server.clients.size === 0);
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };

  async function upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    try {
      requireKnownOrigin(request, allowed);
      if (request.url?.split('?')[0] !== '/ws') {
        throw requestRefusal(404, 'path', 'There is nothing here; the WebSocket is at /ws.');
      }
      const token = tokenOf(request);
      const { token_id } = await authenticate(ledger, token);
      await feed.ready;
      server.handleUpgrade(request, socket, head, (opened) => {
        answered.add(opened);
        opened.on('pong', () => answered.add(opened));
        serveConnection(opened, token, token_id, services);
      });
    } catch (error) {
      refuse(request, socket, head, toRefusal(error));
    }
  }

  /** A page cannot see why an upgrade was refused, so that of a wrong token it is told by a close code. */
  function refuse(request: IncomingMessage, socket: Duplex, head: Buffer, refusal: Refusal): void {
    const isPage = request.headers['sec-websocket-protocol']?.includes(protocol) ?? false;
    if (isPage && refusal.error.code === 'unauthenticated') {
      server.handleUpgrade(request, socket, head, (opened) => {
        opened.on('error', () => {});
        opened.close(closeCode.unauthorized, 'the token does not work');
      });
    } else {
      // Not only half closed: who was answered need not close its side.
      socket.end(rawResponse(refusal), () => socket.destroy());
    }
  }
}

/** From the header or, for browsers, which cannot set it, from the subprotocols `planledger.v1, bearer.TOKEN`. */
function tokenOf({ headers }: IncomingMessage): string {
  const offered = (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  const token = bearerToken(headers) ?? offered.find((one) => one.startsWith(bearer))?.slice(bearer.length);
  if (token !== undefined && token !== '') return token;
  throw unauthenticated(
    'Send the header Authorization: Bearer TOKEN, or the subprotocols planledger.v1, bearer.TOKEN.',
  );
}
