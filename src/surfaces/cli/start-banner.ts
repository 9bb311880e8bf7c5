import type { RunningInfo } from './running.ts';

/** The port of `start` and `serve` when none is named. */
export const defaultPort = 4141;

/** The address a client on this machine uses. */
export function baseUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** Where MCP and the WebSocket are served. */
export function surfaceUrls(url: string): { mcp_url: string; ws_url: string } {
  return { mcp_url: `${url}/mcp`, ws_url: `${url.replace(/^http/, 'ws')}/ws` };
}

/** The lines `planledger start` prints once everything works: each command can be pasted into another terminal. */
export function banner(running: RunningInfo, dataDir: string): string[] {
  const place = `--data-dir ${quoted(dataDir)}`;
  const lines = [
    '',
    'Planledger is ready.',
    '',
    `  URL       ${running.url}`,
    `  MCP       ${running.mcp_url}`,
    `  WebSocket ${running.ws_url}`,
    `  Token     ${running.token ?? '(none: make one as shown below)'}`,
    `  Database  ${running.database_url}`,
    '',
  ];
  if (running.token === null) {
    lines.push(
      'This database has workspaces of others. Make a token for one of them in another terminal:',
      '',
      `  npx planledger token create --workspace ID --name NAME ${place}`,
    );
  } else if (running.task_id === null) {
    lines.push(
      'There is no plan to try. List the tasks in another terminal:',
      '',
      `  npx planledger task list ${place}`,
    );
  } else {
    const task = quoted(running.task_id);
    lines.push(
      'Add to the sample plan, and read it, in another terminal:',
      '',
      `  npx planledger plan append ${task} '- [ ] Written from another terminal' ${place}`,
      `  npx planledger plan show ${task} ${place}`,
    );
  }
  lines.push('', 'Connect Claude Code:', '', `  ${connectClaudeCode(running)}`, '');
  lines.push(`Ctrl-C stops it. The data stays in ${dataDir}; starting again finds it.`, '');
  return lines;
}

function connectClaudeCode({ mcp_url, token }: RunningInfo): string {
  const header = quoted(`Authorization: Bearer ${token ?? 'TOKEN'}`);
  return `claude mcp add --transport http planledger ${mcp_url} --header ${header}`;
}

/** An argument as a POSIX shell takes it literally. */
function quoted(text: string): string {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
