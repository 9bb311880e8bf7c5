import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** The configuration that the test passed to this process. */
export function configuration<T>(): T {
  return JSON.parse(process.argv[2] ?? '') as T;
}

/** Reports one fact to the test. Synchronous, so that what was reported survives a kill right after it. */
export function report(event: string, facts: object = {}): void {
  writeSync(1, `${JSON.stringify({ event, ...facts })}\n`);
}

/**
 * Listens to the test: `told(word)` waits until it has said that word, `heard(word)` is whether it has. The process
 * ends with the test, and by itself after a time that no test takes.
 */
export function listen(): { told: (word: string) => Promise<void>; heard: (word: string) => boolean } {
  const words = new Set<string>();
  const waiting = new Map<string, () => void>();
  createInterface({ input: process.stdin })
    .on('line', (word) => {
      words.add(word);
      waiting.get(word)?.();
    })
    .on('close', () => process.exit(1));
  setTimeout(() => process.exit(1), 900_000).unref();
  return {
    told: (word) => new Promise((resolve) => (words.has(word) ? resolve() : waiting.set(word, resolve))),
    heard: (word) => words.has(word),
  };
}
