import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from '../../src/postgres/connect.ts';

const program = 'psql';

/** A session that runs one statement after another. */
export interface Session {
  /** Answers the stable code, or else the SQLSTATE, of the error it ended in; undefined when it succeeded. */
  run(statement: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A session of the driver. */
export async function driverSession(url: string): Promise<Session> {
  const sql = await connect(url, { role: null, max: 1 });
  return {
    async run(statement) {
      try {
        await sql.unsafe(statement);
        return undefined;
      } catch (error) {
        const { code, detail } = error as { code?: string; detail?: string };
        return codeOf(code ?? String(error), detail ?? '');
      }
    },
    close: () => sql.end({ timeout: 5 }),
  };
}

/** Whether this machine has `psql`; the embedded PostgreSQL brings none. */
export function hasPsql(): boolean {
  return spawnSync(program, ['--version']).status === 0;
}

/** A session of a real `psql`, fed line by line. */
export function psqlSession(url: string): Session {
  const psql = spawn(program, ['-X', '-q', '-v', 'VERBOSITY=verbose', url], { stdio: ['pipe', 'pipe', 'pipe'] });
  const closed = once(psql, 'close');
  const errors = collect(psql, 'stderr');
  let count = 0;
  return {
    async run(statement) {
      count += 1;
      const mark = `statement ${count} is done`;
      psql.stdin.write(`${statement};\n\\warn ${mark}\n`);
      const written = await errors.until(mark);
      const [, sqlState] = /^ERROR: {2}(\w{5}): /m.exec(written) ?? [];
      if (sqlState === undefined) {
        if (written.trim() !== '') throw new Error(`psql: ${written}`);
        return undefined;
      }
      return codeOf(sqlState, /^DETAIL: {2}(\{.*\})$/m.exec(written)?.[1] ?? '');
    },
    async close() {
      psql.stdin.end();
      await closed;
    },
  };
}

function codeOf(sqlState: string, detail: string): string {
  return sqlState.startsWith('TP') ? JSON.parse(detail).code : sqlState;
}

function collect(process: ChildProcess, name: 'stderr') {
  let text = '';
  let wake = () => {};
  process[name]?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    wake();
  });
  process.once('close', () => wake());
  return {
    async until(mark: string): Promise<string> {
      while (!text.includes(`${mark}\n`)) {
        if (process.exitCode !== null) throw new Error(`psql ended: ${text}`);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const [before] = text.split(`${mark}\n`);
      text = text.slice((before ?? '').length + mark.length + 1);
      return before ?? '';
    },
  };
}
