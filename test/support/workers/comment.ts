/**
 * Several clients of gateways that create, edit and delete the comments of one task at random, each call after the one
 * before, and follow them. Reports `committed` with the revision of each change of theirs, `refused` with the code of
 * each refusal, `followed` with a client's comments whenever they change after its last call, and at that.
 */
import { followComments, GatewayError, openClient } from '../../../src/client/index.ts';
import { configuration, listen, report } from './protocol.ts';

export interface CommentConfiguration {
  /** One client for each. */
  gateways: string[];
  token: string;
  task: string;
  /** Calls of each client. */
  calls: number;
}

const { gateways, token, task, calls } = configuration<CommentConfiguration>();
const test = listen();
const pick = (count: number) => Math.floor(Math.random() * count);
const stores = await Promise.all(
  gateways.map(async (url, index) => {
    let done = false;
    const client = openClient({ url, token });
    const store = await followComments(client, task, (snapshot) => {
      if (done) report('followed', { client: index, snapshot });
    });
    return {
      client,
      store,
      finish() {
        done = true;
        report('followed', { client: index, snapshot: store.snapshot });
      },
    };
  }),
);
report('ready');
await test.told('go');
await Promise.all(
  stores.map(async ({ client, store, finish }, index) => {
    for (let call = 0; call < calls; call += 1) {
      const { plan_id, comments } = store.snapshot;
      const one = comments[pick(comments.length)];
      const at = { task_id: task, plan_id: plan_id ?? '', id: one?.id ?? '', expected_version: one?.version ?? 0 };
      const body = `client ${process.pid}/${index}, call ${call}`;
      const kind = one === undefined ? 0 : pick(comments.length > 60 ? 4 : 3);
      try {
        const { revision } = await (kind === 0
          ? client.request('task.plan.comments.create', {
              ...{ task_id: task, plan_id: at.plan_id, id: crypto.randomUUID(), body },
              ...{ selected_text: 'start', anchor_from: 0, anchor_to: 5 },
            })
          : kind === 1
            ? client.request('task.plan.comments.update', { ...at, body })
            : client.request('task.plan.comments.delete', at));
        report('committed', { revision });
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        report('refused', { code: error.code });
      }
    }
    finish();
  }),
);
report('done');
await test.told('stop');
process.exit(0);
