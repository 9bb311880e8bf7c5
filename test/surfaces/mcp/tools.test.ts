import { describe, expect, test } from 'vitest';
import { makeCast, useDatabase } from '../../support/fixture.ts';
import {
  caller,
  connectHttp,
  connectStdio,
  type Era,
  fields,
  startHttp,
  texts,
  tokenFor,
  toolNames,
} from './clients.ts';

const db = useDatabase();

const ways: { transport: 'http' | 'stdio'; era: Era }[] = [
  { transport: 'http', era: 'legacy' },
  { transport: 'http', era: 'modern' },
  { transport: 'stdio', era: 'legacy' },
  { transport: 'stdio', era: 'modern' },
];

async function connect(way: (typeof ways)[number], token: string) {
  if (way.transport === 'stdio') return connectStdio(db.url, token, way.era);
  return connectHttp((await startHttp(db)).url, token, way.era);
}

describe.each(ways)('over $transport, $era protocol', (way) => {
  test('every tool does its work and answers as specified', async () => {
    const cast = await makeCast(db);
    const { token } = await tokenFor(db, cast.agent);
    const client = await connect(way, token);
    const call = caller(client);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(Object.values(toolNames));

    const none = await call('get');
    expect(none.isError).toBeFalsy();
    expect(JSON.parse(texts(none)[0] ?? '')).toMatchObject({ has_plan: false, task_id: cast.task });

    const content = '# Plan\n\n- [ ] one \u{1F600}\n';
    const created = fields(await call('create', { content, title: 'Mine' }));
    expect(created).toMatchObject({
      outcome: 'created',
      task_id: cast.task,
      title: 'Mine',
      content_bytes: Buffer.byteLength(content),
      revision_number: 1,
      replayed: false,
    });

    const appended = await call('update', { content: '\n## Next\n', mode: 'append' });
    expect(fields(appended)).toMatchObject({ outcome: 'appended', title: 'Mine' });
    expect(JSON.stringify(appended)).not.toContain('## Next');

    const got = await call('get', { task_id: cast.task });
    const [metadata, text, ...more] = texts(got);
    expect(more).toEqual([]);
    expect(text).toBe('# Plan\n\n- [ ] one \u{1F600}\n\n## Next\n');
    expect(got.structuredContent).toBeUndefined();
    const { version, created_at, content: absent } = JSON.parse(metadata ?? '');
    expect(version).toBe(fields(appended).version);
    expect(created_at).toBe(new Date(created_at).toISOString());
    expect(absent).toBeUndefined();

    const edited = fields(
      await call('edit', { expected_version: version, old_text: '- [ ] one', new_text: '- [x] one' }),
    );
    expect(edited).toMatchObject({ outcome: 'edited' });
    const replaced = fields(
      await call('update', { content: 'whole new text', expected_version: edited.version, title: 'Other' }),
    );
    expect(replaced).toMatchObject({ outcome: 'replaced', title: 'Other' });

    await db.admin`update planledger.plan_revisions set mergeable = false where task_id = ${cast.task}`;
    const last = fields(
      await call('update', { content: 'third', expected_version: replaced.version, mode: 'replace' }),
    );
    const first = fields(await call('list', { limit: 1 }));
    expect(first).toMatchObject({ task_id: cast.task, next_before_revision_number: 2 });
    const second = fields(await call('list', { before_revision_number: first.next_before_revision_number }));
    expect(second).toMatchObject({ next_before_revision_number: null });
    const [source] = second.revisions as { id: string; revision_number: number }[];
    expect(source).toMatchObject({ revision_number: 1, title: 'Other', author_kind: 'agent', author_name: 'Bot' });

    const revision = await call('get_revision', { revision_id: source?.id });
    expect(texts(revision)[1]).toBe('whole new text');
    expect(revision.structuredContent).toBeUndefined();
    const restore = {
      revision_id: source?.id,
      expected_version: last.version,
      expected_revision_version: JSON.parse(texts(revision)[0] ?? '').revision_version,
    };
    const restored = fields(await call('restore', restore));
    expect(restored).toMatchObject({ outcome: 'restored', revision_number: 3 });
    const again = fields(await call('restore', { ...restore, expected_version: restored.version }));
    expect(again).toMatchObject({ outcome: 'already_current', revision_number: 3, version: restored.version });

    const deleted = await call('delete', { request_id: 'bye' });
    expect(fields(deleted)).toMatchObject({ outcome: 'deleted', task_id: cast.task, replayed: false });
    expect(fields(await call('delete', { request_id: 'bye' }))).toMatchObject({ replayed: true });
    expect(await db.ledger.planGet({ principal: cast.agent, task_id: cast.task })).toBeNull();
  });
});
