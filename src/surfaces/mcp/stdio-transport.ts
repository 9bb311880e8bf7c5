import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/server';
import { maxMessageBytes, maxReadBytes, parseJson, requestIdOf } from '../message.ts';

const newline = 0x0a;
// Longer than any lock wait: what is still unanswered then will not be answered.
const drainMs = 30_000;

/**
 * MCP over a pair of streams, one JSON-RPC message a line. The SDK's own ends the connection at a line it finds too
 * long, replaces bytes that are not UTF-8, says nothing to a line it cannot read, and drops what is under way when its
 * input ends; here each line gets its answer, and the connection ends after the last one.
 */
export function stdioTransport(input: Readable, output: Writable): Transport {
  const unanswered = new Set<RequestId>();
  let pieces: Buffer[] = [];
  let pieceBytes = 0;
  let ended = false;
  let closed = false;
  let drain: NodeJS.Timeout | undefined;

  const transport: Transport = {
    async start() {
      input.on('data', onData);
      input.on('end', onEnd);
      input.on('close', onEnd);
      input.on('error', onEnd);
      output.on('error', () => void transport.close()); // nobody reads any more
      if (input.readableEnded || input.destroyed) setImmediate(onEnd);
    },
    async send(message) {
      if (isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) {
        if (message.id !== undefined) unanswered.delete(message.id);
      }
      await write(message);
      closeWhenDone();
    },
    async close() {
      if (closed) return;
      closed = true;
      clearTimeout(drain);
      input.off('data', onData);
      input.pause();
      transport.onclose?.();
    },
  };
  return transport;

  function write(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve) => {
      if (closed) resolve();
      else output.write(serializeMessage(message), () => resolve());
    });
  }

  function onData(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      keep(chunk.subarray(start, end));
      takeLine();
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }

  /** Past the second limit only the length is kept, so that a line without end costs no memory. */
  function keep(piece: Buffer): void {
    pieceBytes += piece.length;
    if (pieceBytes > maxReadBytes) pieces = [];
    else pieces.push(piece);
  }

  function takeLine(): void {
    const [line, bytes] = [Buffer.concat(pieces), pieceBytes];
    pieces = [];
    pieceBytes = 0;
    if (bytes > maxMessageBytes) {
      refuse(
        -32600,
        `A message may have at most ${maxMessageBytes} bytes; this one had ${bytes}. Nothing was done with it.`,
        parseJson(line).value,
      );
      return;
    }
    const parsed = parseJson(line);
    if (parsed.problem !== undefined) {
      if (line.some((byte) => byte > 0x20)) refuse(-32700, parsed.problem, parsed.value);
      return;
    }
    deliver(parsed.value);
  }

  function deliver(value: unknown): void {
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      refuse(-32600, 'This is not a JSON-RPC message.', value);
      return;
    }
    if (isJSONRPCRequest(message) && message.method !== 'subscriptions/listen') {
      if (unanswered.has(message.id)) {
        refuse(-32600, 'The JSON-RPC id belongs to a call that is not answered yet. Use another one.', value);
        return;
      }
      unanswered.add(message.id);
    }
    if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      unanswered.delete(message.params?.requestId as RequestId);
    }
    transport.onmessage?.(message);
  }

  function refuse(code: number, message: string, about?: unknown): void {
    const id = requestIdOf(about);
    // Answered with the id of a call under way, it would end that call. The SDK's type has no null, JSON-RPC has.
    const own = id !== null && unanswered.has(id) ? null : id;
    void write({ jsonrpc: '2.0', id: own as RequestId, error: { code, message } });
  }

  function onEnd(): void {
    if (ended) return;
    ended = true;
    if (pieceBytes > 0) takeLine();
    drain = setTimeout(() => void transport.close(), drainMs);
    closeWhenDone();
  }

  function closeWhenDone(): void {
    if (ended && unanswered.size === 0) void transport.close();
  }
}
