import { once } from 'node:events';
import { createServer, connect as openSocket, type Socket } from 'node:net';

/** A TCP proxy on 127.0.0.1 that loses what it is told to lose, as a failing network does. */
export interface FaultyNetwork {
  /** The connection string it was made from, leading through the proxy. */
  url: string;
  /**
   * From the next such message of the server on, nothing it sends reaches the client: a row of a result, or that it is
   * ready again, which ends every answer and every refusal.
   */
  holdAnswers(from?: 'row' | 'ready'): void;
  /** From now on what the clients send does not reach the server. */
  holdRequests(): void;
  /** Breaks every connection on both sides, then lets new ones through unharmed. */
  breakConnections(): void;
  close(): Promise<void>;
}

const messages = { row: 'D'.charCodeAt(0), ready: 'Z'.charCodeAt(0) };

/** Opens a proxy to the server of `url`. */
export async function openFaultyNetwork(url: string): Promise<FaultyNetwork> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let heldFrom: number | undefined;
  let requests = true;
  const server = createServer((client) => {
    const upstream = openSocket(Number(target.port || 5432), target.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {}); // 'close' follows
      socket.on('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
    client.on('data', (bytes) => requests && upstream.write(bytes));
    let held = false;
    let rest = Buffer.alloc(0);
    upstream.on('data', (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      // A message of the server: one byte that says which, then its length with these four bytes.
      while (rest.length >= 5 && rest.length > rest.readInt32BE(1)) {
        const message = rest.subarray(0, rest.readInt32BE(1) + 1);
        rest = rest.subarray(message.length);
        held ||= message[0] === heldFrom;
        if (!held) client.write(message);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const through = new URL(url);
  through.hostname = '127.0.0.1';
  through.port = String(typeof address === 'object' && address !== null ? address.port : '');
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: through.href,
    holdAnswers(from = 'row') {
      heldFrom = messages[from];
    },
    holdRequests() {
      requests = false;
    },
    breakConnections() {
      destroyAll();
      heldFrom = undefined;
      requests = true;
    },
    async close() {
      destroyAll();
      server.close();
      await once(server, 'close');
    },
  };
}
