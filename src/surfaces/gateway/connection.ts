import type { Logger } from 'pino';
import type { RawData, WebSocket } from 'ws';
import { PlanledgerError, toPlanledgerError } from '../../ledger/errors.ts';
import type { Ledger } from '../../ledger/generated.ts';
import { withSignal } from '../../ledger/ledger.ts';
import { authenticate, type Caller } from '../caller.ts';
import { logFailure } from '../log-failure.ts';
import { parseJson } from '../message.ts';
import type { Action, ActionContext } from './action.ts';
import { addressOf, EnvelopeError, errorFrame, readRequest, response } from './envelope.ts';
import type { Subscriber, Subscriptions } from './subscriptions.ts';

/** What every connection of a gateway works with. */
export interface GatewayServices {
  ledger: Ledger;
  /** Runs several calls in one transaction, until `signal` cancels it. */
  transaction<T>(work: (ledger: Ledger) => Promise<T>, signal: AbortSignal): Promise<T>;
  logger: Logger;
  actions: Record<string, Action>;
  subscriptions: Subscriptions;
  /** Requests of all connections that are not answered yet. */
  inFlight: number;
  /** Whether no further request is taken, because the server stops. */
  closing: boolean;
}

/** Requests of one connection that are answered at the same time; more of them are read when these are done. */
const inFlightMax = 16;

/** What may wait to be sent to a client, in bytes; one that reads slower is cut off. */
const unsentMax = 32 * 1024 * 1024;

/** Codes with which a connection is closed, besides those of the protocol. */
export const closeCode = { unauthorized: 4401, restart: 1012 } as const;

/** Serves one connection until it closes. */
export function serveConnection(socket: WebSocket, token: string, tokenId: string, services: GatewayServices): void {
  const { ledger, transaction, logger, actions, subscriptions } = services;
  const gone = new AbortController();
  const waiting: { data: RawData; isBinary: boolean }[] = [];
  let inFlight = 0;
  let subscribing: Promise<unknown> = Promise.resolve();
  const tokenEnded = () => socket.close(closeCode.unauthorized, 'the token does not work any more');
  const self: Subscriber = { tokenId, send, tokenEnded };
  const mine = {
    add: (taskId: string) => subscriptions.add(taskId, self),
    remove: (taskId: string) => subscriptions.remove(taskId, self),
  };

  socket.on('message', (data, isBinary) => {
    waiting.push({ data, isBinary });
    next();
  });
  socket.on('error', () => {}); // what is no WebSocket frame: the protocol closes with its own code
  socket.on('close', () => {
    waiting.length = 0;
    subscriptions.removeAll(self);
    gone.abort();
  });

  function next(): void {
    while (inFlight < inFlightMax && !services.closing) {
      const message = waiting.shift();
      if (message === undefined) break;
      inFlight += 1;
      services.inFlight += 1;
      void answer(message).finally(() => {
        inFlight -= 1;
        services.inFlight -= 1;
        next();
      });
    }
    // Nothing more is read while some of it waits: the client's own buffers fill, and not ours.
    if (waiting.length > 0) socket.pause();
    else if (socket.isPaused) socket.resume();
  }

  async function answer({ data, isBinary }: { data: RawData; isBinary: boolean }): Promise<void> {
    let value: unknown;
    let caller: Caller | undefined;
    try {
      if (isBinary) throw new EnvelopeError('BAD_REQUEST', 'Requests are text frames.');
      const parsed = parseJson(data as Buffer);
      value = parsed.value;
      if (parsed.problem !== undefined) throw new EnvelopeError('BAD_REQUEST', parsed.problem);
      const { id, action, payload } = readRequest(value);
      const found = Object.hasOwn(actions, action) ? actions[action] : undefined;
      if (found === undefined) throw new EnvelopeError('UNKNOWN_ACTION', 'There is no such action.');
      const run = async () => {
        caller = await authenticated();
        const context: ActionContext = {
          ledger: withSignal(ledger, gone.signal),
          transaction: (work) => transaction(work, gone.signal),
          caller,
          subscriptions: mine,
        };
        return await found.run(context, payload ?? {});
      };
      // One that ends a subscription and one that begins it anew do not overtake each other.
      const answered = found.inOrder ? subscribing.then(run, run) : run();
      if (found.inOrder) subscribing = answered;
      send(response(id, action, await answered));
    } catch (error) {
      await refuse(value, error, caller);
    }
  }

  /** Asked at every request, so that a revoked token stops at once. */
  async function authenticated(): Promise<Caller> {
    try {
      return await authenticate(ledger, token);
    } catch (error) {
      if (error instanceof PlanledgerError && error.code === 'unauthenticated') {
        throw new EnvelopeError('UNAUTHORIZED', error.message);
      }
      throw error;
    }
  }

  async function refuse(value: unknown, thrown: unknown, caller: Caller | undefined): Promise<void> {
    const address = addressOf(value);
    if (thrown instanceof EnvelopeError) {
      send(errorFrame(address, thrown));
      if (thrown.code === 'UNAUTHORIZED') tokenEnded();
      return;
    }
    if (gone.signal.aborted) return; // nobody is there, and what was cancelled with the connection is no failure
    const error = toPlanledgerError(thrown, address.action ?? 'request', null);
    logFailure(logger, error);
    if (error.code === 'internal_error') {
      send(errorFrame(address, new EnvelopeError('INTERNAL_ERROR', error.message)));
    } else if (error.code === 'plan_comments_changed' && caller !== undefined) {
      send(errorFrame(address, error, await snapshot(caller, error)));
    } else {
      send(errorFrame(address, error));
    }
  }

  /** Read after the refusal: an error of the database is logged there, and must hold no text. */
  async function snapshot({ principal_id }: Caller, { taskId }: PlanledgerError): Promise<unknown> {
    try {
      return await ledger.commentList({ principal: principal_id, task_id: taskId });
    } catch (error) {
      logFailure(logger, toPlanledgerError(error, 'list_comments', taskId));
      return undefined;
    }
  }

  function send(frame: string): void {
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > unsentMax) socket.terminate();
    else socket.send(frame, () => {}); // a failure closes the connection
  }
}
