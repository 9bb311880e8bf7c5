/**
 * The environment of an agent's program: that of the worker without what it knows of its database, and without its
 * secrets, whose names all begin with PLANLEDGER_.
 */
export function agentEnvironment(own: Record<string, string>): Record<string, string> {
  const inherited = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^(DATABASE_URL$|PLANLEDGER_|PG[A-Z]+$)/.test(entry[0]),
  );
  return { ...Object.fromEntries(inherited), ...own };
}
