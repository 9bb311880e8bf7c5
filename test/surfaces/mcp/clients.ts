import { fileURLToPath } from 'node:url';
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { buildHttpServer, type HttpServerOptions } from '../../../src/surfaces/http/server.ts';
import type { Fixture } from '../../support/fixture.ts';

export const stdioEntry = fileURLToPath(new URL('../../support/stdio-entry.ts', import.meta.url));

/** A token for a principal, as an administrator makes it. */
export async function tokenFor({ admin }: Fixture, principal: string, expires_in?: string) {
  return createLedger(admin).tokenCreate({ principal, name: 'test', expires_in });
}

/** A listening server of the test's own, closed when the test is over; its log is collected in `logged`. */
export async function startHttp(db: Fixture, options: Partial<HttpServerOptions> = {}) {
  const logged: string[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => void logged.push(line) });
  const app = await buildHttpServer({ sql: db.app, ledger: db.ledger, logger, ...options });
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return { app, url: mcpUrl(app), logged };
}

function mcpUrl(app: FastifyInstance): string {
  const address = app.server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening');
  return `http://127.0.0.1:${address.port}/mcp`;
}

export type Era = 'legacy' | 'modern';

/** The official client over HTTP; `modern` speaks the protocol without sessions. */
export async function connectHttp(url: string, token: string, era: Era = 'legacy'): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  return connectClient(transport, era);
}

/** The official client over a process of its own. */
export async function connectStdio(databaseUrl: string, token: string, era: Era = 'legacy'): Promise<Client> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [stdioEntry],
    env: { ...(process.env as Record<string, string>), DATABASE_URL: databaseUrl, PLANLEDGER_TOKEN: token },
    stderr: 'ignore',
  });
  return connectClient(transport, era);
}

export async function connectClient(transport: Parameters<Client['connect']>[0], era: Era): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    era === 'modern' ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

export type Call = (name: string, args?: Record<string, unknown>) => Promise<CallToolResult>;

/** Calls a tool by its short name: `update` for `update_task_plan_kandev`. */
export function caller(client: Client): Call {
  return (name, args = {}) => client.callTool({ name: toolNames[name] ?? name, arguments: args });
}

export const toolNames: Record<string, string> = {
  create: 'create_task_plan_kandev',
  get: 'get_task_plan_kandev',
  update: 'update_task_plan_kandev',
  edit: 'edit_task_plan_kandev',
  list: 'list_task_plan_revisions_kandev',
  get_revision: 'get_task_plan_revision_kandev',
  restore: 'restore_task_plan_revision_kandev',
  delete: 'delete_task_plan_kandev',
};

/** The text blocks of a result. */
export function texts(result: CallToolResult): string[] {
  return result.content.map((block) => (block.type === 'text' ? block.text : `(${block.type})`));
}

/** The fields of a result. */
export function fields(result: CallToolResult): Record<string, unknown> {
  return result.structuredContent as Record<string, unknown>;
}
