import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { pino } from 'pino';
import { createLedger } from '../src/ledger/ledger.ts';
import { buildHttpServer } from '../src/surfaces/http/server.ts';
import { atMost, type Bench, fragment, latencies, median, pairedRatio, type Result } from './bench.ts';

/** An append over MCP, Streamable HTTP, token checked at each call, against the same append as one SQL call. */
export async function mcpAppend(bench: Bench): Promise<Record<string, Result>> {
  const { app, user } = bench;
  const [token] = await createLedger(bench.admin)
    .tokenCreate({ principal: user, name: 'bench' })
    .then((row) => [row.token]);
  const http = await buildHttpServer({ sql: app, ledger: createLedger(app), logger: pino({ level: 'silent' }) });
  const url = await http.listen({ host: '127.0.0.1', port: 0 });
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL('/mcp', url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );
  try {
    const count = bench.quick ? 80 : 200;
    let round = 0;
    const { ratio, a, b } = await pairedRatio(
      bench.quick ? 5 : 9,
      async () => {
        round += 1;
        const task = `mcp-${round}`;
        await bench.makePlan(task, 'start');
        const call = async () => {
          const { isError } = await client.callTool({
            name: 'update_task_plan_kandev',
            arguments: { task_id: task, mode: 'append', content: fragment },
          });
          if (isError) throw new Error('the append was refused');
        };
        await latencies(10, call);
        return median(await latencies(count, call));
      },
      async () => {
        round += 1;
        const task = `mcp-${round}`;
        await bench.makePlan(task, 'start');
        const call = () => app`select * from planledger.plan_append(${user}, ${task}, ${fragment})`;
        await latencies(10, call);
        return median(await latencies(count, call));
      },
    );
    return { mcp_append: atMost(ratio, 6, `${a.toFixed(2)} ms over MCP, ${b.toFixed(2)} ms in SQL, p50`) };
  } finally {
    await client.close();
    await http.close();
  }
}
