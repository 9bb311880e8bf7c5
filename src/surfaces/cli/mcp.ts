import type { Command } from 'commander';
import { createLedger } from '../../ledger/ledger.ts';
import { connect } from '../../postgres/connect.ts';
import { authenticate, type CallerOptions, callerOptions, findTarget, requireToken } from './caller.ts';
import { runUntilStopped } from './lifetime.ts';
import { openLog } from './log.ts';

/** `planledger mcp`: stdout carries JSON-RPC and nothing else. */
export function addMcpCommand(program: Command): void {
  const command = program.command('mcp').description('serve MCP to one client over stdin and stdout');
  callerOptions(command).action(async (options: CallerOptions) => {
    const target = await findTarget(options);
    const token = requireToken(target);
    const logger = openLog('warn');
    const { serveStdio } = await import('../mcp/stdio.ts');
    await runUntilStopped(async (life) => {
      const sql = await connect(target.databaseUrl, { max: 2, applicationName: 'planledger mcp' });
      life.defer(() => sql.end({ timeout: 5 }));
      const ledger = createLedger(sql);
      // Refused here, a wrong token ends the command with words; inside a session a person would never see them.
      await authenticate(ledger, token);
      life.defer(async () => process.stdin.destroy()); // an open stdin would keep the process
      void serveStdio({ ledger, token, logger }).then(() => life.end(), life.end);
    });
  });
}
