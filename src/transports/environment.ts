/** The environment of an agent's program: what the worker knows of its database is not the agent's. */
export function agentEnvironment(own: Record<string, string>): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && entry[0] !== 'DATABASE_URL' && !entry[0].startsWith('PLANLEDGER_'),
  );
  return { ...Object.fromEntries(inherited), ...own };
}
