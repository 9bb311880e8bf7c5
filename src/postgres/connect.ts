import postgres from 'postgres';
import { parse } from 'postgres-array';

/** A pool of connections that act as the application role. */
export type Sql = postgres.Sql;

/** A transaction begun on a pool. */
export type TransactionSql = postgres.TransactionSql;

/** @see connect */
export interface ConnectOptions {
  /** Most connections at once; 10 by default. Callers beyond it wait their turn. */
  max?: number;
  /** What `pg_stat_activity` shows. */
  applicationName?: string;
  /** `planledger_app` unless said otherwise; null keeps the login's own role (administration). */
  role?: string | null;
  /** Whether a PgBouncer in transaction mode stands between; found out by `connect` when absent. */
  pgbouncer?: boolean;
}

/**
 * The settings without which a killed or frozen client could still write or hold a lock. They are sent when a
 * connection starts; behind PgBouncer, which refuses them, a DBA sets them on the role that logs in.
 */
export const connectionSettings = {
  client_connection_check_interval: '1s',
  idle_in_transaction_session_timeout: 60_000,
  lock_timeout: 15_000,
} as const; // milliseconds where there is no unit

/**
 * The arrays we meet, by the numbers of their types. The driver can ask each new connection for them, but a connection
 * that is lost meanwhile ends the process: nobody awaits that query.
 */
const arrays = {
  fetch_types: false,
  types: {
    texts: arrayOf(1009, String),
    names: arrayOf(1003, String),
    uuids: arrayOf(2951, String),
    ints: arrayOf(1007, Number),
  },
};

function arrayOf<T extends string | number>(type: number, read: (text: string) => T): postgres.PostgresType<T[]> {
  const literal = (item: T | null) => (item === null ? 'NULL' : `"${String(item).replace(/["\\]/g, '\\$&')}"`);
  return {
    to: type,
    from: [type],
    serialize: (items: T[]) => `{${items.map(literal).join(',')}}`,
    parse: (text: string) => parse(text, read),
  };
}

/** A connection string that is none; the message says what one looks like and repeats nothing of it. */
export class DatabaseUrlError extends Error {
  override name = 'DatabaseUrlError';
  readonly code = 'validation_error';
}

/**
 * Refuses what is no connection string of PostgreSQL, of which the drivers make host names and complain of those.
 *
 * @throws DatabaseUrlError
 */
export function checkDatabaseUrl(databaseUrl: string): void {
  if (/^postgres(ql)?:\/\//.test(databaseUrl) && URL.canParse(databaseUrl) && isDecodable(databaseUrl)) return;
  const problem = databaseUrl ? 'The database URL has the wrong form.' : 'There is no database URL.';
  throw new DatabaseUrlError(
    `${problem} It is postgres://user:password@host:5432/database, with special characters of a password percent-encoded.`,
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens a pool and makes sure that it answers. Behind PgBouncer (`PLANLEDGER_PGBOUNCER=1`, or found out) no startup
 * parameters are sent and no prepared statements kept; the login must then be a member of `planledger_app`.
 *
 * @throws DatabaseUrlError for what is no URL of PostgreSQL; else the driver's own error, which names the
 *   cause.
 */
export async function connect(databaseUrl: string, options: ConnectOptions = {}): Promise<Sql> {
  const pgbouncer = options.pgbouncer ?? process.env.PLANLEDGER_PGBOUNCER === '1';
  const sql = openPool(databaseUrl, { ...options, pgbouncer });
  try {
    await sql`select 1`;
    return sql;
  } catch (error) {
    await sql.end({ timeout: 0 });
    if (!pgbouncer && error instanceof Error && error.message.includes('unsupported startup parameter')) {
      return connect(databaseUrl, { ...options, pgbouncer: true });
    }
    throw error;
  }
}

/** Opens a pool that connects when it is first used, so that it may be made while the database is down. */
export function openPool(databaseUrl: string, options: ConnectOptions = {}): Sql {
  checkDatabaseUrl(databaseUrl);
  const pgbouncer = options.pgbouncer ?? process.env.PLANLEDGER_PGBOUNCER === '1';
  const role = options.role === undefined ? 'planledger_app' : options.role;
  const { hostname, port } = new URL(databaseUrl);
  return postgres(databaseUrl, {
    // The driver takes an IPv6 address apart at its colons, unless it is in a list, which its types do not know.
    ...(hostname.startsWith('[') && {
      host: [hostname.slice(1, -1)] as unknown as string,
      port: [Number(port || 5432)] as unknown as number,
    }),
    ...arrays,
    max: options.max ?? 10,
    prepare: !pgbouncer,
    connect_timeout: 10,
    backoff: (attempt: number) => Math.min(0.05 * 2 ** attempt, 1), // seconds; callers wait for it
    onnotice: () => {},
    connection: {
      application_name: options.applicationName ?? 'planledger',
      ...(pgbouncer ? {} : { ...connectionSettings, ...(role === null ? {} : { role }) }),
    },
  });
}

/** Another pool with the settings of `sql`, of which `max` connections are opened at most. */
export function poolLike(sql: Sql, max: number, applicationName: string): Sql {
  const { options } = sql;
  const connection = { ...options.connection, application_name: applicationName };
  return postgres({ ...options, ...arrays, max, connection } as unknown as postgres.Options<Record<string, never>>);
}
