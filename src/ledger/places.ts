/** A bound on how many calls are under way; the others wait in the order in which they came. */
export interface Places {
  /**
   * Runs `call` when there is a place for it.
   *
   * @throws the reason of `signal` when that fires before; the call is then not made.
   */
  run<T>(call: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

export function createPlaces(count: number): Places {
  let free = count;
  const waiting = new Set<() => void>();

  return {
    async run(call, signal) {
      signal?.throwIfAborted();
      if (free > 0) free -= 1;
      else await place(signal);
      try {
        return await call();
      } finally {
        const [next] = waiting;
        if (next === undefined) free += 1;
        else next();
      }
    },
  };

  /** Waits for a place, which the call that leaves hands over. */
  function place(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        waiting.delete(go);
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        waiting.delete(go);
        reject(signal?.reason);
      };
      waiting.add(go);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }
}
