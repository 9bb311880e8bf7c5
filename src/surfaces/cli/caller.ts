import { createHash } from 'node:crypto';
import path from 'node:path';
import { type Command, Option } from 'commander';
import type { Ledger } from '../../ledger/generated.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { connect, type Sql } from '../../postgres/connect.ts';
import { UsageError } from './failure.ts';
import { defaultDataDir, findRunning } from './running.ts';

/** The task, and who calls. */
export interface On {
  principal: string;
  task_id: string;
}

/** Which database, and as whom. */
export interface CallerOptions {
  databaseUrl?: string;
  dataDir?: string;
  token?: string;
  json?: boolean;
}

/** Adds the options that say which database a command works on. */
export function databaseOptions(command: Command): Command {
  return command
    .option('--database-url <url>', 'database to use (default: DATABASE_URL)')
    .addOption(
      new Option(
        '--data-dir <dir>',
        `use the \`planledger start\` that runs on this folder (else ${defaultDataDir})`,
      ).conflicts('databaseUrl'),
    );
}

/** Adds the options of a command that acts for the bearer of a token. */
export function callerOptions(command: Command): Command {
  return databaseOptions(command).option(
    '--token <token>',
    'access token (default: PLANLEDGER_TOKEN, else that of the start found)',
  );
}

/** A database, and the token of the `planledger start` that runs on it where it was found that way. */
export interface Target {
  databaseUrl: string;
  token: string | undefined;
}

/**
 * Finds the database: what the command line names, then the environment, then a `planledger start` in this folder; and
 * the token likewise. `--data-dir` names both, so that the banner's lines work whatever the environment says.
 */
export async function findTarget(options: CallerOptions): Promise<Target> {
  const environment = { databaseUrl: process.env.DATABASE_URL ?? '', token: process.env.PLANLEDGER_TOKEN };
  if (options.databaseUrl !== undefined) {
    return { databaseUrl: options.databaseUrl, token: options.token ?? environment.token };
  }
  if (options.dataDir === undefined && environment.databaseUrl !== '') {
    return { databaseUrl: environment.databaseUrl, token: options.token ?? environment.token };
  }
  const dataDir = path.resolve(options.dataDir ?? defaultDataDir);
  const running = await findRunning(dataDir);
  if (running !== undefined) {
    // A token in the environment says who calls; a folder named on the command line says it louder.
    const own = options.dataDir === undefined ? (environment.token ?? running.token) : running.token;
    return { databaseUrl: running.database_url, token: options.token ?? own ?? environment.token };
  }
  if (options.dataDir !== undefined) {
    throw new UsageError(
      `No \`planledger start\` is running on ${dataDir}.`,
      `Start it in another terminal (planledger start --data-dir ${options.dataDir}), or give --database-url.`,
    );
  }
  throw new UsageError(
    'No database: neither --database-url nor DATABASE_URL is given, and no `planledger start` is running in this folder.',
    'Run `planledger start` in another terminal, or set DATABASE_URL=postgres://user:password@host:5432/database.',
  );
}

/** The database of a command that works on one of its own, never on that of a running `planledger start`. */
export function requireDatabaseUrl(options: { databaseUrl?: string }): string {
  const url = options.databaseUrl ?? process.env.DATABASE_URL ?? '';
  if (url !== '') return url;
  throw new UsageError(
    'No database: neither --database-url nor DATABASE_URL is given.',
    'Set DATABASE_URL=postgres://user:password@host:5432/database. `planledger start` needs none.',
  );
}

/** The token of a target. */
export function requireToken(target: Target): string {
  if (target.token !== undefined && target.token !== '') return target.token;
  throw new UsageError(
    'No access token: neither --token nor PLANLEDGER_TOKEN is given.',
    `An administrator makes one with \`planledger token create\`; set PLANLEDGER_TOKEN to it. --data-dir ${defaultDataDir} would use the start in this folder, and its token.`,
  );
}

/** Who the bearer of a token is. */
export async function authenticate(ledger: Ledger, token: string): Promise<string> {
  const { principal_id } = await ledger.tokenAuthenticate({
    token_sha256: createHash('sha256').update(token).digest(),
  });
  return principal_id;
}

/** Runs `use` for the bearer of the token, as the application role. */
export async function asCaller(
  options: CallerOptions,
  use: (ledger: Ledger, principal: string) => Promise<void>,
): Promise<void> {
  const target = await findTarget(options);
  const token = requireToken(target);
  const sql = await connect(target.databaseUrl, { max: 1, applicationName: 'planledger cli' });
  try {
    const ledger = createLedger(sql);
    await use(ledger, await authenticate(ledger, token));
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Runs `use` as the login itself, in one transaction: several calls that an administrator means as one. */
export async function asAdministrator<T>(
  databaseUrl: string,
  use: (ledger: Ledger, sql: Sql) => Promise<T>,
): Promise<T> {
  const sql = await connect(databaseUrl, { max: 1, role: null, applicationName: 'planledger administration' });
  try {
    await sql`begin`;
    const result = await use(createLedger(sql), sql);
    await sql`commit`;
    return result;
  } finally {
    await sql.end({ timeout: 1 }); // an open transaction rolls back
  }
}
