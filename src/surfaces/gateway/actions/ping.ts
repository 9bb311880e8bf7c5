import { type Action, defineAction } from '../action.ts';

/** For clients that cannot see the protocol's own pings, such as pages: whether the connection still carries anything. */
export const pingActions: Record<string, Action> = { ping: defineAction({}, async () => ({})) };
