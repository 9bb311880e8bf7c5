import { failureText } from './failure.ts';
import { note } from './output.ts';

/** What a long-running command is given. */
export interface Lifetime {
  /** Aborted when the command is ending, for whatever reason. */
  readonly signal: AbortSignal;
  /** Registers what must be undone; the last registered is undone first. */
  defer(undo: () => Promise<unknown>): void;
  /** Ends the command: without an error, as if asked to. */
  end(error?: Error): void;
}

// Under npm a terminal's Ctrl-C arrives twice: from the terminal and from npm, which passes it on.
const sameKeyPressMs = 500;

class Asked extends Error {}

/**
 * Runs `start`, waits until a signal or `end`, and undoes what was deferred, also where `start` itself fails or is
 * interrupted. A second signal ends the process at once.
 *
 * @throws what `start` threw, or the error given to `end`.
 */
export async function runUntilStopped(start: (life: Lifetime) => Promise<void>): Promise<void> {
  const controller = new AbortController();
  const undos: (() => Promise<unknown>)[] = [];
  let askedAt: number | undefined;
  const onSignal = () => {
    if (askedAt === undefined) {
      askedAt = performance.now();
      note('Stopping. Press Ctrl-C again to end at once.');
      controller.abort(new Asked());
    } else if (performance.now() - askedAt > sameKeyPressMs) {
      process.exit(130);
    }
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  try {
    const ended = new Promise((resolve) => controller.signal.addEventListener('abort', resolve, { once: true }));
    await start({
      signal: controller.signal,
      defer: (undo) => undos.push(undo),
      end: (error) => controller.abort(error ?? new Asked()),
    });
    await ended;
    throw controller.signal.reason;
  } catch (error) {
    if (!(error instanceof Asked)) throw error;
  } finally {
    controller.abort();
    for (const undo of undos.reverse()) {
      await undo().catch((error: unknown) => {
        process.stderr.write(failureText(error));
        process.exitCode = 1;
      });
    }
    for (const signal of signals) process.off(signal, onSignal);
  }
}
