import { createHmac } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { WebhookEntry } from './agents-file.ts';
import { type Prompt, type Ready, type Sent, TransportError } from './transport.ts';

const connectMs = 10_000;
const answerMs = 30_000;

/** Connects to an agent that is called over HTTP. @throws TransportError */
export async function prepareWebhook({ url, secret_env }: WebhookEntry): Promise<Ready> {
  const secret = process.env[secret_env] ?? '';
  if (secret === '') throw new TransportError(`The worker has no ${secret_env} in its environment to sign with.`);
  const address = new URL(url);
  const socket = await connected(address);
  return { send: (prompt) => post(address, secret, socket, prompt), abandon: () => socket.destroy() };
}

/** The key of a secret as Standard Webhooks write it, `whsec_` and base64; of any other, its own bytes. */
function keyOf(secret: string): Buffer {
  const [, encoded] = /^whsec_(.+)$/.exec(secret) ?? [];
  return encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64');
}

function connected(address: URL): Promise<Socket> {
  const secure = address.protocol === 'https:';
  const host = address.hostname.replace(/^\[|\]$/g, '');
  const at = { host, port: Number(address.port || (secure ? 443 : 80)) };
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket: Socket = secure
    ? connectTls({ ...at, servername: host }, () => resolve(socket))
    : connectPlain(at, () => resolve(socket));
  socket.setTimeout(connectMs, () => socket.destroy(new Error('no answer')));
  socket.once('error', ({ message }) => reject(new TransportError(`The agent cannot be connected to: ${message}.`)));
  return promise;
}

/** Signed as Standard Webhooks has it. From the first byte on, what goes wrong leaves open whether it arrived. */
function post(address: URL, secret: string, socket: Socket, prompt: Prompt): Promise<Sent> {
  const body = JSON.stringify({
    id: prompt.id,
    task_id: prompt.taskId,
    session_id: prompt.sessionId,
    content: prompt.content,
    plan_mode: prompt.planMode,
    attachments: prompt.attachments.map(({ content, ...file }) => ({
      ...file,
      content: Buffer.from(content).toString('base64'),
    })),
  });
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', keyOf(secret)).update(`${prompt.id}.${timestamp}.${body}`).digest('base64');
  const { promise, resolve } = Promise.withResolvers<Sent>();
  const unknown = (why: string) => resolve({ outcome: 'unknown', failure: `The request broke off: ${why}.` });
  socket.removeAllListeners('error').setTimeout(0);
  const send = address.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send(address, {
    method: 'POST',
    createConnection: () => socket,
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'idempotency-key': prompt.id,
      'webhook-id': prompt.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
      connection: 'close',
    },
  });
  // Some ends of a connection reach no listener of a request.
  const limit = setTimeout(() => socket.destroy(new Error('no answer in time')), answerMs);
  socket.once('close', () => unknown('the connection was closed'));
  void promise.finally(() => clearTimeout(limit));
  if (socket.destroyed) unknown('the connection was closed');
  request.on('error', ({ message }) => unknown(message));
  request.on('upgrade', () => resolve({ outcome: 'refused', failure: 'The agent answered with HTTP 101.' }));
  request.on('response', (response) => {
    const { statusCode = 0 } = response;
    response.on('error', () => {}).resume();
    if (statusCode >= 200 && statusCode < 300) resolve({ outcome: 'accepted' });
    else resolve({ outcome: 'refused', failure: `The agent answered with HTTP ${statusCode}.` });
  });
  request.end(body);
  return promise;
}
