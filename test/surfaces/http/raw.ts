import { request } from 'node:http';

/** An answer as it came, for what the official client would hide. */
export interface RawAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** One HTTP request with exactly these headers, `Host` included. */
export function send(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Buffer } = {},
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const call = request(url, { method: options.method ?? 'GET', headers: options.headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
      );
    });
    call.on('error', reject);
    call.end(options.body);
  });
}

const accept = 'application/json, text/event-stream';

/** A JSON-RPC message posted as a client of the 2025 protocol does. */
export function post(url: string, token: string, message: unknown, headers: Record<string, string> = {}) {
  return send(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, accept, 'content-type': 'application/json', ...headers },
    body: typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message),
  });
}

export const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

/** Opens a session and answers its id. */
export async function openSession(url: string, token: string): Promise<string> {
  const answer = await post(url, token, initialize);
  const id = answer.headers['mcp-session-id'];
  if (answer.status !== 200 || typeof id !== 'string') throw new Error(`no session: ${answer.status} ${answer.text}`);
  return id;
}

/** A tool call as a message. */
export function toolCall(id: number | string, name: string, args: Record<string, unknown>) {
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } };
}

export const ping = { jsonrpc: '2.0', id: 'ping', method: 'ping' };

/** The header that names a session. */
export const session = (id: string) => ({ 'mcp-session-id': id });

/** Opens the session's event stream; `ended` settles when the server ends it. */
export async function openStream(url: string, token: string, id: string, signal: AbortSignal | null = null) {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...session(id) };
  const answer = await fetch(url, { headers, signal });
  return { status: answer.status, ended: answer.text() };
}
