/** Who is told: one connection with the token it came with. */
export interface Subscriber {
  tokenId: string;
  send(frame: string): void;
}

/** Which connections want to be told of which tasks. */
export interface Subscriptions {
  add(taskId: string, subscriber: Subscriber): void;
  remove(taskId: string, subscriber: Subscriber): void;
  /** Ends all of a connection that closed. */
  removeAll(subscriber: Subscriber): void;
  /** The tasks that anybody wants to be told of. */
  tasks(): string[];
  of(taskId: string): Subscriber[];
}

export function createSubscriptions(): Subscriptions {
  const byTask = new Map<string, Set<Subscriber>>();

  function remove(taskId: string, subscriber: Subscriber): void {
    const subscribers = byTask.get(taskId);
    subscribers?.delete(subscriber);
    if (subscribers?.size === 0) byTask.delete(taskId);
  }

  return {
    add(taskId, subscriber) {
      const subscribers = byTask.get(taskId) ?? new Set();
      byTask.set(taskId, subscribers.add(subscriber));
    },
    remove,
    removeAll(subscriber) {
      for (const taskId of byTask.keys()) remove(taskId, subscriber);
    },
    tasks: () => [...byTask.keys()],
    of: (taskId) => [...(byTask.get(taskId) ?? [])],
  };
}
