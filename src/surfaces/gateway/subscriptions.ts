/** Who is told: one connection with the token it came with. */
export interface Subscriber {
  tokenId: string;
  send(frame: string): void;
  /** Called when its token was found not to work any more. */
  tokenEnded(): void;
}

/** That a connection wants to be told of a task, since it asked for it last. */
interface Subscription {
  subscriber: Subscriber;
}

/** Which connections want to be told of which tasks. */
export interface Subscriptions {
  /** Answers what takes it back, which leaves one that was there before. */
  add(taskId: string, subscriber: Subscriber): () => void;
  remove(taskId: string, subscriber: Subscriber): void;
  /** Ends a subscription, unless its connection has asked again meanwhile. */
  end(taskId: string, subscription: Subscription): void;
  /** Ends all of a connection that closed. */
  removeAll(subscriber: Subscriber): void;
  /** The tasks that anybody wants to be told of. */
  tasks(): string[];
  of(taskId: string): Subscription[];
}

export function createSubscriptions(): Subscriptions {
  const byTask = new Map<string, Map<Subscriber, Subscription>>();

  function remove(taskId: string, subscriber: Subscriber): void {
    const subscriptions = byTask.get(taskId);
    subscriptions?.delete(subscriber);
    if (subscriptions?.size === 0) byTask.delete(taskId);
  }

  function end(taskId: string, subscription: Subscription): void {
    const { subscriber } = subscription;
    if (byTask.get(taskId)?.get(subscriber) === subscription) remove(taskId, subscriber);
  }

  return {
    add(taskId, subscriber) {
      const subscriptions = byTask.get(taskId) ?? new Map();
      const known = subscriptions.has(subscriber);
      const subscription = { subscriber };
      byTask.set(taskId, subscriptions.set(subscriber, subscription));
      return () => {
        if (!known) end(taskId, subscription);
      };
    },
    remove,
    end,
    removeAll(subscriber) {
      for (const taskId of byTask.keys()) remove(taskId, subscriber);
    },
    tasks: () => [...byTask.keys()],
    of: (taskId) => [...(byTask.get(taskId)?.values() ?? [])],
  };
}
