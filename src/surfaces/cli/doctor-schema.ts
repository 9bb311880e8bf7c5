import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Sql } from '../../postgres/connect.ts';
import { dbDir, functionFiles } from '../../postgres/functions.ts';
import { schemaSnapshot } from '../../postgres/schema-snapshot.ts';
import { again } from './doctor-functions.ts';
import { type Check, fail, ok, warn } from './doctor-report.ts';

const shown = 5;

/** Whether tables, columns, constraints, indexes, triggers and types are as the migrations made them. */
export async function checkSchema(sql: Sql): Promise<Check> {
  const wanted = comparable(await readFile(path.join(dbDir, 'schema.txt'), 'utf8'));
  const found = comparable(await schemaSnapshot(sql));
  const missing = [...wanted].filter((line) => !found.has(line));
  const more = [...found].filter((line) => !wanted.has(line));
  if (missing.length > 0) {
    return fail(
      'structure',
      `not as it was made: ${listed(missing)}`,
      `What is there instead: ${listed(more)}. As a DBA undo what was changed by hand; \`planledger migrate\` changes nothing here.`,
    );
  }
  if (more.length > 0) {
    return warn('structure', `more than was made: ${listed(more)}`, 'It is somebody else’s; look at what it is for.');
  }
  return ok('structure', 'tables, constraints, indexes and triggers as in db/schema.txt');
}

/** Who owns and may use what has checks of its own, functions too; storage options are a DBA's. */
function comparable(text: string): Set<string> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('function '));
  return new Set(
    lines.map((line) =>
      line
        .replace(/ acl .*?(?= options | -- |$)/, '')
        .replace(/ owner \S+/, '')
        .replace(/ options \S+/, '')
        .replace(/ -- .*$/, '')
        .trim(),
    ),
  );
}

function listed(lines: string[]): string {
  const rest = lines.length > shown ? `, and ${lines.length - shown} more` : '';
  return lines.length === 0 ? 'nothing' : `${lines.slice(0, shown).join('; ')}${rest}`;
}

/** Whether the views say what their files say: each is made anew beside the one that is there, and compared. */
export async function checkViews(sql: Sql): Promise<Check> {
  const views = (await functionFiles()).flatMap(({ text }) => {
    const [, name, query] = /create or replace view planledger\.(\w+) as\n([\s\S]*?);\n/.exec(text) ?? [];
    return name === undefined || query === undefined ? [] : [{ name, query }];
  });
  const undone = new Error('nothing is kept');
  const changed: string[] = [];
  await sql
    .begin(async (transaction) => {
      for (const { name, query } of views) {
        await transaction.unsafe(`create temporary view doctor_${name} as ${query}`);
        const [row] = await transaction<{ same: boolean }[]>`
          select pg_get_viewdef(to_regclass(${`pg_temp.doctor_${name}`})) is not distinct from
            pg_get_viewdef(to_regclass(${`planledger.${name}`})) as same`;
        if (row?.same !== true) changed.push(name);
      }
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  if (changed.length === 0) return ok('views', `${views.length} views as in db/functions`);
  return fail('views', changed.map((name) => `${name} differs from its file`).join('; '), again);
}
