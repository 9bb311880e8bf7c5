import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { schemaSnapshot } from '../../src/postgres/schema-snapshot.ts';
import { useDatabase } from '../support/fixture.ts';
import { generatedTypes } from '../support/snapshot.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const db = useDatabase();

interface CatalogueFunction {
  name: string;
  signature: string;
  language: string;
  definer: boolean;
  owner: string;
  settings: string[] | null;
  comment: string | null;
  grantees: string[];
  overloads: number;
  trigger: boolean;
}

async function functions(): Promise<CatalogueFunction[]> {
  return db.admin<CatalogueFunction[]>`
    select p.proname as name, p.oid::regprocedure::text as signature, l.lanname as language, p.prosecdef as definer,
      p.proowner::regrole::text as owner, p.proconfig as settings, obj_description(p.oid, 'pg_proc') as comment,
      array(select coalesce(nullif(a.grantee, 0)::regrole::text, 'PUBLIC') from aclexplode(p.proacl) a
        where a.privilege_type = 'EXECUTE' and a.grantee <> p.proowner order by 1) as grantees,
      (select count(*)::int from pg_proc o where o.pronamespace = p.pronamespace and o.proname = p.proname) as overloads,
      p.prorettype = 'trigger'::regtype as trigger
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = 'planledger'::regnamespace order by 1`;
}

test('every function is owned by the owner role, documented, and has no overload', async () => {
  for (const f of await functions()) {
    expect(f, f.name).toMatchObject({ owner: 'planledger_owner', overloads: 1 });
    expect(f.comment, `${f.name} has no comment`).toMatch(/\w{3}/);
    expect(f.grantees, f.name).not.toContain('PUBLIC');
  }
});

test('PL/pgSQL functions pin their search path; SQL ones are single expressions without settings', async () => {
  for (const f of await functions()) {
    if (f.language === 'plpgsql') {
      expect(f.settings, f.name).toContain('search_path=planledger, pg_temp');
    } else {
      expect(f, f.name).toMatchObject({ language: 'sql', settings: null, definer: false });
    }
  }
});

test('security definer is exactly what is granted or left to administrators, and nothing inside is granted', async () => {
  const grants = await readFile(path.join(root, 'db/grants.sql'), 'utf8');
  for (const f of await functions()) {
    const granted = grants.includes(`planledger.${f.name}(`);
    expect(f.grantees.length > 0, `${f.name} is granted as db/grants.sql says`).toBe(granted);
    if (granted && f.language === 'plpgsql') expect(f.definer, f.name).toBe(true);
    if (f.trigger) expect(f.definer, f.name).toBe(false);
  }
});

test('every table, column, view, domain, type and trigger has a comment', async () => {
  expect(await schemaSnapshot(db.admin)).not.toContain('NO COMMENT');
});

test('each file of db/functions is named after the one thing it makes, and makes it', async () => {
  const files = (await readdir(path.join(root, 'db/functions'), { recursive: true })).filter((f) => f.endsWith('.sql'));
  const views = await db.admin`select viewname as name from pg_views where schemaname = 'planledger'`;
  const made = [...(await functions()), ...views].map(({ name }) => name).sort();
  expect(files.map((file) => path.parse(file).name).sort()).toEqual(made);
  for (const file of files) {
    const text = await readFile(path.join(root, 'db/functions', file), 'utf8');
    expect(text.match(/^create or replace (function|view) /gm), file).toHaveLength(1);
    if (file.endsWith('error_catalog.sql')) continue; // a table, however long
    expect(text.split('\n').length, `${file} is longer than 120 lines`).toBeLessThanOrEqual(120);
  }
});

test('the committed schema snapshot and generated types are those of the database', async () => {
  expect(await schemaSnapshot(db.admin)).toBe(await readFile(path.join(root, 'db/schema.txt'), 'utf8'));
  const generated = await readFile(path.join(root, 'src/ledger/generated.ts'), 'utf8');
  expect(await generatedTypes(db.admin)).toBe(generated);
});
