import { once } from 'node:events';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';

/** A frame of the gateway. */
interface Frame {
  id: string | number | null;
  type: 'response' | 'notification' | 'error';
  action: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into payloads of every shape
  payload: any;
  timestamp: string;
}

/** A connection with everything that came over it. */
export interface Socket {
  socket: WebSocket;
  frames: Frame[];
  /** Sends a request and answers its one answer. */
  request(action: string, payload?: object): Promise<Frame>;
  /** The answer with that id. */
  answer(id: string | number | null): Promise<Frame>;
  /** The `count`th notification of an action, counted from 1. */
  notification(action: string, count?: number): Promise<Frame>;
  /** The code with which the connection closes. */
  closed: Promise<number>;
}

/** Opens `/ws` of a server whose MCP address is `mcpUrl`. */
export async function openSocket(mcpUrl: string, token: string): Promise<Socket> {
  const url = new URL('/ws', mcpUrl);
  url.protocol = 'ws:';
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  onTestFinished(() => socket.terminate());
  const frames: Frame[] = [];
  const heard = new EventTarget();
  socket.on('message', (data) => {
    frames.push(JSON.parse(data.toString()) as Frame);
    heard.dispatchEvent(new Event('frame'));
  });
  const closed = once(socket, 'close').then(([code]) => {
    heard.dispatchEvent(new Event('frame'));
    return code as number;
  });
  await once(socket, 'open');
  let sent = 0;

  async function wait(find: () => Frame | undefined, what: string): Promise<Frame> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      if (socket.readyState !== WebSocket.OPEN) throw new Error(`closed before ${what} came`);
      await once(heard, 'frame');
    }
  }

  const opened: Socket = {
    socket,
    frames,
    closed,
    request(action, payload = {}) {
      sent += 1;
      const id = `r${sent}`;
      socket.send(JSON.stringify({ id, type: 'request', action, payload, timestamp: new Date().toISOString() }));
      return opened.answer(id);
    },
    answer: (id) =>
      wait(() => frames.find((frame) => frame.id === id && frame.type !== 'notification'), `answer ${id}`),
    notification: (action, count = 1) =>
      wait(() => frames.filter((frame) => frame.type === 'notification' && frame.action === action)[count - 1], action),
  };
  return opened;
}
