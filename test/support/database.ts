import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import { migrate } from '../../src/postgres/migrate.ts';

/** The same server, another database. */
export function databaseUrl(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

/** Makes an empty UTF8 database on the server of `url` and answers its connection string. */
export async function emptyDatabase(url: string, options = "encoding 'UTF8' template template0"): Promise<string> {
  const name = `t_${randomBytes(8).toString('hex')}`;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(`create database ${name} ${options}`);
  } finally {
    await sql.end();
  }
  return databaseUrl(url, name);
}

/** Makes a migrated database on the server of `url`. */
export async function freshDatabase(url: string): Promise<string> {
  const database = await emptyDatabase(url);
  await migrate(database);
  return database;
}
