import { PlanledgerError } from '../../ledger/errors.ts';
import { DatabaseUrlError } from '../../postgres/connect.ts';
import { EmbeddedPostgresError } from '../../postgres/embedded.ts';
import { MigrationError } from '../../postgres/migrate.ts';
import { visible } from './output.ts';

/** A command that cannot be carried out as it was given; exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError';
  readonly nextAction: string;

  constructor(message: string, nextAction: string) {
    super(message);
    this.nextAction = nextAction;
  }
}

/** Something outside stands in the way of a correct command; exit code 1. */
export class ObstacleError extends Error {
  override name = 'ObstacleError';
  readonly code: string;
  readonly nextAction: string;

  constructor(code: string, message: string, nextAction: string) {
    super(message);
    this.code = code;
    this.nextAction = nextAction;
  }
}

/** A failure as a person reads it. */
export interface Failure {
  code: string;
  message: string;
  nextAction: string;
  exitCode: 1 | 2;
  /** A fault of the program or its set-up, worth a stack trace to whoever looks for it. */
  unexpected: boolean;
}

/** What went wrong and what to do, without anything secret. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof UsageError) return { ...known('usage', error.message, error.nextAction), exitCode: 2 };
  if (error instanceof ObstacleError) return known(error.code, error.message, error.nextAction);
  if (error instanceof DatabaseUrlError) {
    return { ...known('usage', error.message, 'Correct DATABASE_URL or --database-url.'), exitCode: 2 };
  }
  if (error instanceof MigrationError) return known('database_unusable', error.message, '');
  if (error instanceof EmbeddedPostgresError) return known('embedded_postgres', error.message, '');
  // The facade names these two without their cause, which a person with the connection string may see.
  const opaque =
    error instanceof PlanledgerError && (error.code === 'internal_error' || error.code === 'database_unavailable');
  const fromDatabase =
    error instanceof PlanledgerError && !opaque ? undefined : databaseFailure(opaque ? error.cause : error);
  if (fromDatabase !== undefined) return fromDatabase;
  if (error instanceof PlanledgerError && !opaque) return known(error.code, error.message, error.nextAction);
  return {
    ...known(
      'internal_error',
      reason(opaque ? (error.cause ?? error) : error),
      'This is a fault of Planledger or of its set-up: `planledger doctor` checks the set-up; DEBUG=1 shows where it happened.',
    ),
    unexpected: true,
  };
}

/** Two or three lines for stderr; the stack only for unexpected faults and only when DEBUG is set. */
export function failureText(error: unknown): string {
  const failure = describeFailure(error);
  const head = `planledger: ${failure.code}: ${failure.message}`;
  // These two have lines of their own. Elsewhere a line end can only come from somebody's text.
  const hasLines = error instanceof EmbeddedPostgresError || error instanceof MigrationError;
  const lines = hasLines ? head.split('\n') : [head];
  if (failure.nextAction !== '') lines.push(`  ${failure.nextAction}`);
  if (failure.unexpected && process.env.DEBUG && error instanceof Error) {
    lines.push(...stackLines(error));
    if (error.cause instanceof Error) lines.push('caused by', ...stackLines(error.cause));
  }
  return `${lines.map(visible).join('\n')}\n`;
}

/** Its lines, where those of the message count as one. */
function stackLines({ stack = '' }: Error): string[] {
  return stack.split(/\n(?= {4}at )/);
}

const unreachable = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'CONNECT_TIMEOUT',
  'CONNECTION_CLOSED',
  '53300',
  '57P01',
  '57P03',
]);
const notMigrated = new Set(['3F000', '42883', '42P01']);

function databaseFailure(error: unknown): Failure | undefined {
  const code = errorCode(error);
  const text = reason(error);
  if (isUnreachable(error)) {
    return known(
      'database_unavailable',
      `The database cannot be reached (${text}).`,
      'Start it, or correct DATABASE_URL; with it unset (`unset DATABASE_URL`), `planledger start` brings a PostgreSQL of its own.',
    );
  }
  if (code === '28P01' || code === '28000') {
    return known(
      'database_login',
      `The database refused the login: ${text}.`,
      'Correct user and password in DATABASE_URL.',
    );
  }
  if (code === '3D000') {
    return known(
      'database_missing',
      `The server has no such database: ${text}.`,
      `Correct DATABASE_URL, or create it: create database … encoding 'UTF8' template template0;`,
    );
  }
  if (notMigrated.has(code) || (code === '22023' && text.includes('role "planledger_app"'))) {
    return known(
      'database_not_migrated',
      `The database has no Planledger, or another version of it (${text}).`,
      'Run `planledger migrate` with this DATABASE_URL; `planledger doctor` says what is missing.',
    );
  }
  if (code === '42501') {
    return known(
      'database_rights',
      `The database login may not do this (${text}).`,
      'Plans and tasks need a member of planledger_app; tokens and workspaces one of planledger_owner.',
    );
  }
  return undefined;
}

/** The `code` of a system, driver or PostgreSQL error; empty when it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether a connection failed, or was lost, because its server is not there (any more). */
export function isUnreachable(error: unknown): boolean {
  // The driver of the start lock gives a connection that was cut no code.
  return unreachable.has(errorCode(error)) || reason(error).startsWith('Connection terminated');
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // An AggregateError, one for each address tried, has no message of its own.
  return error.message === '' ? errorCode(error) : error.message;
}

function known(code: string, message: string, nextAction: string): Failure {
  return { code, message, nextAction, exitCode: 1, unexpected: false };
}
