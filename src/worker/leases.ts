/** How long a worker takes a receipt, or the agent of a session, before it renews that. */
export const leaseMs = 60_000;
/** From the marker of a prompt to its acknowledgement; later it is cleared. */
export const attemptMs = 120_000;

/** Milliseconds, as the database's functions take them. */
export const interval = (ms: number) => `${ms} milliseconds`;
