// An agent that adds sections to a plan over MCP. It prints `ready` once it is connected, waits for a line on stdin, and
// then makes all its calls at the same time. Arguments: the URL of MCP, and the sections. TOKEN: its access token.
import { once } from 'node:events';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { programVersion } from '../version.ts';

const [url = '', ...sections] = process.argv.slice(2);
const client = new Client({ name: 'planledger-demo', version: programVersion });
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${process.env.TOKEN}` } },
  }),
);
process.stdout.write('ready\n');
await once(process.stdin, 'data');
process.stdin.destroy();
const results = await Promise.all(
  sections.map((content) =>
    client.callTool({ name: 'update_task_plan_kandev', arguments: { mode: 'append', content } }),
  ),
);
const refused = results.filter(({ isError }) => isError);
if (refused.length > 0) {
  process.stderr.write(`${JSON.stringify(refused[0]?.content)}\n`);
  process.exitCode = 1;
}
await client.close();
