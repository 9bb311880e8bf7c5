import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** The responses that are not finished yet, so that closing can wait for them. */
export interface OpenResponses {
  add(response: ServerResponse): void;
  /** Says that a response is an event stream, which ends when its session does and not by itself. */
  becameStream(response: ServerResponse): void;
  /** How many calls are not answered yet. */
  open(): number;
  /** Waits until every call is answered, at most `ms` milliseconds. */
  callsFinished(ms: number): Promise<void>;
  /** Waits until every event stream has ended, at most `ms` milliseconds. */
  streamsFinished(ms: number): Promise<void>;
}

export function trackResponses(): OpenResponses {
  const calls = new Set<ServerResponse>();
  const streams = new Set<ServerResponse>();
  return {
    add(response) {
      if (response.closed) return; // its client hung up already
      calls.add(response);
      response.once('close', () => {
        calls.delete(response);
        streams.delete(response);
      });
    },
    becameStream(response) {
      calls.delete(response);
      if (!response.closed) streams.add(response);
    },
    open: () => calls.size,
    callsFinished: (ms) => until(ms, () => calls.size === 0),
    streamsFinished: (ms) => until(ms, () => streams.size === 0),
  };
}

/** Fires when nobody waits for a response any more. */
export function whenGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  if (response.closed) gone.abort();
  else response.once('close', () => gone.abort());
  return gone.signal;
}

/** Waits for something, so many milliseconds at most. */
export async function until(ms: number, done: () => boolean): Promise<void> {
  const end = performance.now() + ms;
  while (!done() && performance.now() < end) await sleep(10);
}
