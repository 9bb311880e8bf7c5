import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server';
import type { Logger } from 'pino';
import { toPlanledgerError } from '../../ledger/errors.ts';
import type { Ledger } from '../../ledger/generated.ts';
import { withSignal } from '../../ledger/ledger.ts';
import { programVersion } from '../../version.ts';
import type { Caller } from '../caller.ts';
import { logFailure } from '../log-failure.ts';
import { instructions } from './instructions.ts';
import { refusal } from './results.ts';
import type { PlanTool } from './tool.ts';
import { tools } from './tools.ts';

/** What both transports give: the facade, a log, and how a request says who makes it. */
export interface McpSurface {
  ledger: Ledger;
  logger: Logger;
  /** @throws PlanledgerError when the caller is nobody, or nobody could be asked. */
  caller(context: ServerContext): Promise<Caller>;
  /** Fires when nobody waits for the answer any more; the SDK's own signal when absent. */
  gone?(context: ServerContext): AbortSignal;
}

/**
 * One MCP server, for one connection or request. It is the SDK's low-level class: the high-level one checks
 * arguments before us and sends the text of whatever is thrown to the model.
 */
export function createMcpServer(surface: McpSurface): Server {
  const server = new Server(
    { name: 'planledger', title: 'Planledger', version: programVersion },
    { capabilities: { tools: { listChanged: true } }, instructions },
  );
  let listedUnknown = false;

  server.setRequestHandler('tools/list', async (_request, context) => {
    const scopes = await scopesOf(surface, context);
    // A client asks once, when it starts. When nobody can say what its token may do it gets every tool, so that calls
    // work as soon as the database does; each call is still decided by the token's rights.
    listedUnknown = scopes === null;
    const listed = tools.filter(({ scope }) => scopes?.includes(scope) ?? true);
    const limit = await contentLimit(surface);
    return { tools: listed.map((tool) => listing(tool, limit)) };
  });

  server.setRequestHandler('tools/call', async ({ params }, context): Promise<CallToolResult> => {
    const tool = tools.find(({ listing }) => listing.name === params.name);
    if (tool === undefined) {
      const names = tools.map(({ listing }) => listing.name).join(', ');
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no such tool. The tools are ${names}.`);
    }
    const signal = surface.gone?.(context) ?? context.mcpReq.signal;
    try {
      const caller = await surface.caller(context);
      if (listedUnknown) {
        listedUnknown = false;
        await server.sendToolListChanged();
      }
      // Whether the token may use this tool is decided in SQL, where its scopes are checked with its reach.
      return await tool.call(withSignal(surface.ledger, signal), caller, params.arguments ?? {});
    } catch (error) {
      const failure = toPlanledgerError(error, tool.operation, null);
      logFailure(surface.logger, failure);
      return refusal(failure);
    }
  });
  return server;
}

function listing({ listing }: PlanTool, limit: number | null): Tool {
  const bytes = limit?.toLocaleString('en-US') ?? 'a fixed number of';
  return { ...listing, description: (listing.description ?? '').replaceAll('{content_max_bytes}', bytes) };
}

/** What the caller may do, or null when the database could not be asked. */
async function scopesOf(surface: McpSurface, context: ServerContext): Promise<string[] | null> {
  try {
    return (await surface.caller(context)).scopes;
  } catch (error) {
    const failure = toPlanledgerError(error, 'list_tools', null);
    logFailure(surface.logger, failure);
    if (failure.code === 'database_unavailable') return null;
    throw new ProtocolError(ProtocolErrorCode.InternalError, failure.message, failure.toJSON());
  }
}

const limits = new WeakMap<Ledger, number>();

/** The size limit of a plan, a constant of the database and so asked for once; null while it cannot be reached. */
async function contentLimit({ ledger, logger }: McpSurface): Promise<number | null> {
  const known = limits.get(ledger);
  if (known !== undefined) return known;
  try {
    const { content_max_bytes } = await ledger.contentMaxBytes({});
    limits.set(ledger, content_max_bytes);
    return content_max_bytes;
  } catch (error) {
    logFailure(logger, toPlanledgerError(error, 'list_tools', null));
    return null;
  }
}
