import { createHash } from 'node:crypto';
import type { Ledger, TokenAuthenticateRow } from '../ledger/generated.ts';

/** Whose token a request carried: principal, scopes and, for an agent, the task of its session. */
export type Caller = TokenAuthenticateRow;

/**
 * Who the bearer of a token is, asked at every request, so that a revoked or expired one stops at once.
 *
 * @throws PlanledgerError `unauthenticated`, or `database_unavailable` when nobody could be asked.
 */
export async function authenticate(ledger: Ledger, token: string): Promise<Caller> {
  return ledger.tokenAuthenticate({ token_sha256: createHash('sha256').update(token).digest() });
}

/** The token of an Authorization header; undefined where there is none. */
export function bearerToken({ authorization }: { authorization?: string | undefined }): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
}
