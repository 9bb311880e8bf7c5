import type { Command } from 'commander';
import { createHinter, withHints } from '../../events/hints.ts';
import { createLedger } from '../../ledger/ledger.ts';
import { connect, openPool } from '../../postgres/connect.ts';
import { authenticate, type CallerOptions, callerOptions, findTarget, requireToken } from './caller.ts';
import { failureText, isUnreachable } from './failure.ts';
import { runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';
import { note } from './output.ts';

/** `planledger mcp`: stdout carries JSON-RPC and nothing else. */
export function addMcpCommand(program: Command): void {
  const command = program.command('mcp').description('serve MCP to one client over stdin and stdout');
  callerOptions(command).action(async (options: CallerOptions) => {
    const target = await findTarget(options);
    const token = requireToken(target);
    const logger = openLog('warn');
    const { serveStdio } = await import('../mcp/stdio.ts');
    await runUntilStopped(async (life) => {
      const pool = { max: 2, applicationName: 'planledger mcp' };
      // A database that is away for a moment must not cost an agent its tools for the whole session.
      const reached = await connect(target.databaseUrl, pool).catch((error: unknown) => {
        if (!isUnreachable(error)) throw error;
        process.stderr.write(failureText(error));
        note('  Serving nevertheless: calls fail until it answers.');
      });
      const sql = reached ?? openPool(target.databaseUrl, pool);
      life.defer(() => sql.end({ timeout: 5 }));
      const ledger = withHints(createLedger(sql), createHinter(sql));
      // Refused here, a wrong token ends the command with words; inside a session a person would never see them.
      if (reached !== undefined) await authenticate(ledger, token);
      life.defer(async () => process.stdin.destroy()); // an open stdin would keep the process
      void serveStdio({ ledger, token, logger }).then(() => life.end(), life.end);
    });
  });
}
