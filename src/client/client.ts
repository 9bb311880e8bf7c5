import { type Actions, GatewayError, type Notification, type Subscription } from './protocol.ts';

/** @see openClient */
export interface ClientOptions {
  /** Address of the gateway, such as `ws://127.0.0.1:4141/ws`. */
  url: string;
  token: string;
  /** Called whenever the connection opens, goes, or is given up because the token does not work. */
  onState?(state: ClientState): void;
  /**
   * Milliseconds without a word from the server after which it is asked for one, and after three times that given up;
   * 15,000 when absent.
   */
  quietMs?: number;
}

export type ClientState = 'open' | 'waiting' | 'unauthorized' | 'closed';

/** What is told of one task. */
export interface TaskListener {
  notified(notification: Notification): void;
  /** Called when notifications begin, and again after each reconnect, when some may have been missed. */
  subscribed?(subscription: Subscription): void;
  /** Called when the task was deleted, or is out of reach after a reconnect; it is not subscribed to any more. */
  refused?(error: GatewayError): void;
}

/** A connection to a gateway that mends itself. */
export interface Client {
  /**
   * Sends one request and answers its payload. While the connection is away it waits for the next one.
   *
   * @throws GatewayError with the code of the refusal; `connection_lost` where the connection went before the answer, and
   *   `UNAUTHORIZED` where the token does not work.
   */
  request<Action extends keyof Actions>(action: Action, payload: Actions[Action][0]): Promise<Actions[Action][1]>;
  /** Starts the notifications of a task, over reconnects too, until the function it answers is called. */
  subscribe(taskId: string, listener: TaskListener): Promise<() => void>;
  /** Closes for good; what is not answered fails with `connection_lost`. */
  close(): void;
}

const firstPauseMs = 100;
const longestPauseMs = 10_000;
const againMs = 1_000;
const unauthorized = 4401;
const tokenEnded = ['UNAUTHORIZED', 'The token does not work.'] as const;

/** With these codes a request fails for its connection, and not for what it asks. */
export const goneCodes: ReadonlySet<string> = new Set(['connection_lost', 'UNAUTHORIZED']);

interface Pending {
  frame: string;
  /** Whether it went out on the present connection: then it may have been done. */
  sent: boolean;
  resolve(payload: unknown): void;
  reject(error: GatewayError): void;
}

/** Connects to a gateway, and again whenever the connection goes; it needs nothing but the platform's `WebSocket`. */
export function openClient({ url, token, onState, quietMs = 15_000 }: ClientOptions): Client {
  const pending = new Map<string, Pending>();
  const listeners = new Map<string, Set<TaskListener>>();
  let socket: WebSocket;
  let state: ClientState = 'waiting';
  let pauseMs = firstPauseMs;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let requests = 0;
  let quiet = 0;
  open();

  return {
    request,
    async subscribe(taskId, listener) {
      const known = listeners.get(taskId) ?? new Set();
      listeners.set(taskId, known.add(listener));
      try {
        const subscription = await request('task.subscribe', { task_id: taskId });
        listener.subscribed?.(subscription);
      } catch (error) {
        forget(taskId, listener);
        throw error;
      }
      return () => {
        forget(taskId, listener);
        if (!listeners.has(taskId) && state === 'open') {
          request('task.unsubscribe', { task_id: taskId }).catch(() => {}); // the connection went, and it with it
        }
      };
    },
    close() {
      clearInterval(timer);
      become('closed');
      failPending(() => true);
      socket.close();
    },
  };

  function open(): void {
    socket = new WebSocket(url, ['planledger.v1', `bearer.${token}`]);
    socket.onopen = () => {
      pauseMs = firstPauseMs;
      for (const call of [...pending.values()]) transmit(call);
      for (const taskId of listeners.keys()) void resubscribe(taskId);
      become('open');
      if (state === 'open') timer = setInterval(listen, quietMs);
    };
    socket.onmessage = ({ data }) => {
      quiet = 0;
      heard(String(data));
    };
    socket.onclose = ({ code }) => lost(code);
  }

  /** Asks for a sign of life when nothing was heard for a while; a connection that gives none is given up. */
  function listen(): void {
    quiet += 1;
    if (quiet === 1)
      request('ping', {}).catch(() => {}); // what it is asked for is any frame at all
    else if (quiet > 2) {
      socket.onclose = null; // it would wait for an answer too
      socket.close();
      lost();
    }
  }

  function lost(code?: number): void {
    clearInterval(timer);
    if (state === 'closed') return;
    socket.onmessage = null;
    quiet = 0;
    if (code === unauthorized) {
      become('unauthorized');
      failPending(() => true, ...tokenEnded);
      return;
    }
    failPending(({ sent }) => sent);
    become('waiting');
    timer = setTimeout(open, pauseMs * (0.5 + Math.random()));
    pauseMs = Math.min(2 * pauseMs, longestPauseMs);
  }

  function become(next: ClientState): void {
    if (state === next) return;
    state = next;
    onState?.(next);
  }

  function request<Action extends keyof Actions>(
    action: Action,
    payload: Actions[Action][0],
  ): Promise<Actions[Action][1]> {
    if (state === 'unauthorized') return Promise.reject(new GatewayError(...tokenEnded));
    if (state === 'closed') {
      return Promise.reject(new GatewayError('connection_lost', 'The client is closed. Nothing was sent.'));
    }
    requests += 1;
    const id = `r${requests}`;
    const frame = JSON.stringify({ id, type: 'request', action, payload, timestamp: new Date().toISOString() });
    return new Promise<unknown>((resolve, reject) => {
      const call = { frame, sent: false, resolve, reject };
      pending.set(id, call);
      if (socket.readyState === WebSocket.OPEN) transmit(call);
    }) as Promise<Actions[Action][1]>;
  }

  function transmit(call: Pending): void {
    call.sent = true;
    socket.send(call.frame);
  }

  function heard(text: string): void {
    const { id, type, action, payload } = JSON.parse(text);
    if (type === 'notification') {
      const { task_id, plan_id } = payload;
      for (const listener of listeners.get(task_id) ?? []) listener.notified({ action, payload });
      // The task may have gone, and its subscription with it.
      if (action === 'task.plan.deleted' && plan_id === null && listeners.has(task_id)) void resubscribe(task_id);
      return;
    }
    const call = pending.get(id);
    pending.delete(id);
    if (type === 'response') call?.resolve(payload);
    else
      call?.reject(
        new GatewayError(payload.code, payload.message, payload.details, payload.details?.write_applied ?? false),
      );
  }

  /** What was not sent was not done, and may wait for the next connection. */
  function failPending(
    which: (call: Pending) => boolean,
    code = 'connection_lost',
    message = 'The connection went before the answer came.',
  ): void {
    for (const [id, call] of pending) {
      if (!which(call)) continue;
      pending.delete(id);
      call.reject(new GatewayError(code, message, {}, call.sent ? 'unknown' : false));
    }
  }

  async function resubscribe(taskId: string): Promise<void> {
    try {
      const subscription = await request('task.subscribe', { task_id: taskId });
      for (const listener of listeners.get(taskId) ?? []) listener.subscribed?.(subscription);
    } catch (error) {
      // The next connection tries again, unless there is none.
      if (!(error instanceof GatewayError) || goneCodes.has(error.code)) return;
      if (error.code !== 'task_unreachable') {
        setTimeout(() => listeners.has(taskId) && void resubscribe(taskId), againMs);
        return;
      }
      for (const listener of listeners.get(taskId) ?? []) listener.refused?.(error);
      listeners.delete(taskId);
    }
  }

  function forget(taskId: string, listener: TaskListener): void {
    const known = listeners.get(taskId);
    known?.delete(listener);
    if (known?.size === 0) listeners.delete(taskId);
  }
}
