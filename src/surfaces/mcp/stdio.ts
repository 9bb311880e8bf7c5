import { serveStdio as serveSdkStdio } from '@modelcontextprotocol/server/stdio';
import type { Logger } from 'pino';
import type { Ledger } from '../../ledger/generated.ts';
import { authenticate } from '../caller.ts';
import { createMcpServer } from './server.ts';
import { stdioTransport } from './stdio-transport.ts';

/**
 * Serves MCP on this process's stdin and stdout until stdin ends and the calls under way are answered. Every line on
 * stdout is one JSON-RPC message. The token is looked up at each request; the database may be down when this starts.
 */
export function serveStdio(options: { ledger: Ledger; token: string; logger: Logger }): Promise<void> {
  const { ledger, token, logger } = options;
  const transport = stdioTransport(process.stdin, process.stdout);
  return new Promise((resolve) => {
    const caller = () => authenticate(ledger, token);
    serveSdkStdio(() => createMcpServer({ ledger, logger, caller }), {
      transport,
      onerror: (error) => logger.debug({ cause: error.name }, 'protocol error'),
    });
    const onclose = transport.onclose;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
}
