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
  /** From now on requests to cancel arrive and are never passed on nor answered; answers how many did. */
  loseCancellations(): () => number;
  /** The connections that are open carry nothing any more, both ways, and nobody is told; new ones are unharmed. */
  freezeConnections(): void;
  /** Breaks every connection on both sides, then lets new ones through unharmed. */
  breakConnections(): void;
  close(): Promise<void>;
}

const messages = { row: 'D'.charCodeAt(0), ready: 'Z'.charCodeAt(0) };

/** Opens a proxy to the server of `url`; only what PostgreSQL sends can be held from a message on. */
export async function openFaultyNetwork(url: string): Promise<FaultyNetwork> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let heldFrom: number | undefined;
  let requests = true;
  let cancellations = true;
  let lostCancellations = 0;
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
    client.on('data', (bytes) => {
      // A request to cancel is a connection of its own with these 16 bytes.
      const lost = !cancellations && bytes.length === 16 && bytes.readInt32BE(4) === 80877102;
      if (lost) lostCancellations += 1;
      else if (requests) upstream.write(bytes);
    });
    let held = false;
    let rest = Buffer.alloc(0);
    upstream.on('data', (bytes) => {
      if (!target.protocol.startsWith('postgres')) {
        client.write(bytes);
        return;
      }
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
    loseCancellations() {
      cancellations = false;
      return () => lostCancellations;
    },
    breakConnections() {
      destroyAll();
      heldFrom = undefined;
      requests = true;
    },
    freezeConnections() {
      for (const socket of sockets) socket.pause();
    },
    async close() {
      destroyAll();
      server.close();
      await once(server, 'close');
    },
  };
}
