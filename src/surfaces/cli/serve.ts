import type { Command } from 'commander';
import { migrate } from '../../postgres/migrate.ts';
import { requireDatabaseUrl } from './caller.ts';
import { findHooks, hooksOption } from './hooks.ts';
import { portNumber, startHttpService } from './http-service.ts';
import { runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';
import { note, printLine } from './output.ts';
import { baseUrl, defaultPort, surfaceUrls } from './start-banner.ts';

interface ServeOptions {
  databaseUrl?: string;
  host: string;
  port: number;
  allowedHost?: string[];
  allowedOrigin?: string[];
  hooks?: string;
}

/** `planledger serve`. */
export function addServeCommand(program: Command): void {
  const list = (value: string, before: string[] | undefined) => [...(before ?? []), value];
  program
    .command('serve')
    .description('serve MCP over HTTP, and WebSocket, on a database; any number of these may share one')
    .option('--database-url <url>', 'database to use (default: DATABASE_URL)')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <number>', 'port to listen on; 0 for any free one', portNumber, defaultPort)
    .option(
      '--allowed-host <name>',
      'a host name clients use for this server, instead of localhost (may be repeated)',
      list,
    )
    .option(
      '--allowed-origin <origin>',
      'an origin whose pages may call it, instead of those of localhost (may be repeated)',
      list,
    )
    .option('--hooks <file>', hooksOption)
    .action(serve);
}

async function serve(options: ServeOptions): Promise<void> {
  const databaseUrl = requireDatabaseUrl(options);
  const hooks = await findHooks(options.hooks);
  const logger = openLog('info');
  await runUntilStopped(async (life) => {
    await migrate(databaseUrl, (line) => logger.info(line));
    life.signal.throwIfAborted();
    const { address } = await startHttpService(life, {
      databaseUrl,
      host: options.host,
      port: options.port,
      logger,
      hooks,
      ...(options.allowedHost && { allowedHosts: options.allowedHost }),
      ...(options.allowedOrigin && { allowedOrigins: options.allowedOrigin }),
    });
    const { mcp_url, ws_url } = surfaceUrls(baseUrl(options.host, address.port));
    printLine(`Planledger serves MCP on ${mcp_url} and WebSocket on ${ws_url}`);
    if (options.allowedHost === undefined && !address.address.startsWith('127.') && address.address !== '::1') {
      note('It answers clients that address it as localhost; name its other host names with --allowed-host.');
    }
  });
}
