import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { TurnStartHook } from '../../admission/turn-start.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { connect, type Sql } from '../../postgres/connect.ts';
import { errorCode, ObstacleError, UsageError } from './failure.ts';
import type { Lifetime } from './lifetime.ts';

/** @see startHttpService */
export interface HttpServiceOptions {
  databaseUrl: string;
  host: string;
  port: number;
  logger: Logger;
  allowedHosts?: string[];
  allowedOrigins?: string[];
  hooks?: readonly TurnStartHook[];
}

/** Serves HTTP as the application role until the lifetime ends; answers once it listens. */
export async function startHttpService(
  life: Lifetime,
  options: HttpServiceOptions,
): Promise<{ address: AddressInfo; sql: Sql }> {
  const { buildHttpServer } = await import('../http/server.ts');
  const sql = await connect(options.databaseUrl, { applicationName: 'planledger server' });
  life.defer(() => sql.end({ timeout: 5 }));
  // Writes that wait for one task's lock may fill the pool; knowing callers, reading and readiness do not wait for them.
  const readers = await connect(options.databaseUrl, { max: 4, applicationName: 'planledger server, reading' });
  life.defer(() => readers.end({ timeout: 5 }));
  const ledger = createLedger(sql, readers);
  const server = await buildHttpServer({
    sql,
    readers,
    ledger,
    logger: options.logger,
    ...(options.allowedHosts && { allowedHosts: options.allowedHosts }),
    ...(options.allowedOrigins && { allowedOrigins: options.allowedOrigins }),
    ...(options.hooks && { hooks: options.hooks }),
  });
  life.defer(() => server.close());
  life.signal.throwIfAborted();
  await server.listen({ host: options.host, port: options.port }).catch((error: unknown) => {
    throw listenError(error, options);
  });
  return { address: server.server.address() as AddressInfo, sql };
}

function listenError(error: unknown, { host, port }: HttpServiceOptions): unknown {
  switch (errorCode(error)) {
    case 'EADDRINUSE':
      return new ObstacleError(
        'port_taken',
        `Port ${port} on ${host} is taken by another program, or by a planledger that runs already.`,
        'Choose another with --port, or --port 0 for any free one.',
      );
    case 'EACCES':
      return new ObstacleError('port_forbidden', `Port ${port} may not be opened.`, 'Choose one above 1023.');
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ObstacleError('host_unknown', `${host} is no address of this machine.`, 'Correct --host.');
    default:
      return error;
  }
}

/** A TCP port of the command line; 0 for any free one. */
export function portNumber(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new UsageError(`${text} is not a port.`, 'Give --port a number from 0 (any free port) to 65535.');
}
