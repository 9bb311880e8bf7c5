import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { commentActions } from '../../src/surfaces/gateway/actions/comment.ts';
import { messageActions } from '../../src/surfaces/gateway/actions/message.ts';
import { pingActions } from '../../src/surfaces/gateway/actions/ping.ts';
import { planActions } from '../../src/surfaces/gateway/actions/plan.ts';
import { queueActions } from '../../src/surfaces/gateway/actions/queue.ts';
import { sessionActions } from '../../src/surfaces/gateway/actions/session.ts';
import { taskActions } from '../../src/surfaces/gateway/actions/task.ts';
import { root } from './blocks.ts';

test('docs/websocket.md lists every action with every field it takes, and no other', async () => {
  const text = await readFile(path.join(root, 'docs/websocket.md'), 'utf8');
  const [, section = ''] = /\n## Actions\n(.*?)\n## /s.exec(text) ?? [];
  const listed = [...section.matchAll(/^\| `([a-z._]+)` \| (.*?) ?\| .* \|$/gm)].map(([, action, fields = '']) => [
    action,
    [...fields.matchAll(/`(\w+)\??`/g)].map(([, field]) => field).sort(),
  ]);
  const actions = {
    ...pingActions,
    ...taskActions,
    ...planActions,
    ...commentActions,
    ...sessionActions,
    ...messageActions,
    ...queueActions,
  };
  const served = Object.entries(actions).map(([action, { fields }]) => [action, [...fields].sort()]);
  expect(listed.sort()).toEqual(served.sort());
});
