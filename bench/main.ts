import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { startTestServer } from '../test/support/server.ts';
import { admit } from './admit.ts';
import { appendContended } from './append-contended.ts';
import { appendFlat } from './append-flat.ts';
import { appendFloor } from './append-floor.ts';
import { appendVsRewrite } from './append-vs-rewrite.ts';
import { openBench, type Result } from './bench.ts';
import { deliver } from './deliver.ts';
import { fanout } from './fanout.ts';
import { mcpAppend } from './mcp-append.ts';
import { read } from './read.ts';

const { values: options } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, json: { type: 'string' }, only: { type: 'string' } },
});
const scenarios = {
  appendFlat,
  appendFloor,
  appendVsRewrite,
  appendContended,
  read,
  mcpAppend,
  fanout,
  admit,
  deliver,
};

const server = await startTestServer();
const bench = await openBench(server.url, options.quick);
const results: Record<string, Result> = {};
try {
  const [{ version }] = (await bench.admin`select current_setting('server_version') as version`) as unknown as [
    { version: string },
  ];
  const memory = Math.round(totalmem() / 2 ** 30);
  console.info(`PostgreSQL ${version} (${server.kind}), ${cpus().length} × ${cpus()[0]?.model}, ${memory} GiB`);
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (options.only !== undefined && options.only !== name) continue;
    for (const [row, result] of Object.entries(await scenario(bench))) {
      results[row] = result;
      const sign = result.atMost ? '≤' : '≥';
      const verdict = result.ok ? 'ok' : 'MISSED';
      console.info(
        `${row.padEnd(24)}${String(result.value).padStart(9)}  ${sign} ${String(result.target).padEnd(6)} ${verdict}  ${result.note}`,
      );
    }
  }
} finally {
  await bench.close();
  await server.stop();
}
if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
process.exitCode = Object.values(results).every(({ ok }) => ok) ? 0 : 1;
