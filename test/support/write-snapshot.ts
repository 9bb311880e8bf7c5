import { writeFile } from 'node:fs/promises';
import { connect } from '../../src/postgres/connect.ts';
import { schemaSnapshot } from '../../src/postgres/schema-snapshot.ts';
import { freshDatabase } from './database.ts';
import { startTestServer } from './server.ts';
import { generatedTypes } from './snapshot.ts';

const server = await startTestServer();
try {
  const database = await freshDatabase(server.url);
  const sql = await connect(database, { role: null, max: 1 });
  await writeFile(new URL('../../db/schema.txt', import.meta.url), await schemaSnapshot(sql));
  await writeFile(new URL('../../src/ledger/generated.ts', import.meta.url), await generatedTypes(sql));
  await sql.end();
} finally {
  await server.stop();
}
