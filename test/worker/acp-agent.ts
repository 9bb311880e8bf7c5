// An agent that speaks the Agent Client Protocol: it records each prompt in the file RECORD, and does what its text says.
// It is ready once the file START is there, answers `hold` once ANSWER is, and takes up to PAUSE milliseconds for a step.
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { appendFileSync, closeSync, existsSync, readFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const record = (entry: object) => appendFileSync(process.env.RECORD ?? '', `${JSON.stringify(entry)}\n`);
const cancelling = new EventEmitter();
const pause = () => sleep(Math.random() * Number(process.env.PAUSE ?? 0));

/** Waits for a file, where one is named, and does what it says. */
async function fileIsThere(file: string | undefined): Promise<void> {
  if (file === undefined) return;
  while (!existsSync(file)) await sleep(10);
  if (readFileSync(file, 'utf8') === 'exit') process.exit(3);
}

record({ started: process.pid });
agent({ name: 'recorder' })
  .onRequest(methods.agent.initialize, async () => {
    await fileIsThere(process.env.START);
    return {
      protocolVersion: PROTOCOL_VERSION,
      agentCapabilities: { promptCapabilities: JSON.parse(process.env.TAKES ?? '{}') },
    };
  })
  .onRequest(methods.agent.session.new, () => ({ sessionId: 'one', ...JSON.parse(process.env.OPENS ?? '{}') }))
  .onRequest(methods.agent.session.setMode, ({ params: { modeId } }) => {
    record({ mode: modeId });
    return {};
  })
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const text = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('');
    record({ prompt: text });
    const cancelled = text.startsWith('wait') ? once(cancelling, 'cancel') : undefined;
    for (const block of params.prompt) {
      if (block.type === 'text') continue;
      const linked = block.type === 'resource_link' ? readFileSync(new URL(block.uri)).toString('base64') : undefined;
      record({ block: { ...block, linked } });
    }
    const say = (said: string) =>
      client.notify(methods.client.session.update, {
        sessionId: params.sessionId,
        update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: said } },
      });
    if (text === 'refuse') throw new Error('no');
    if (text.startsWith('shout')) {
      process.stderr.write(`${text}\n`);
      await say(text);
      if (text.includes('exit')) process.exit(3);
    }
    if (text === 'null') return null as never;
    if (text === 'closed') {
      closeSync(1);
      setInterval(() => {}, 1_000);
      await new Promise(() => {});
    }
    if (text === 'flood') {
      const update = (toolCallId: string, more: object) =>
        client.notify(methods.client.session.update, {
          sessionId: params.sessionId,
          update: { toolCallId, ...more } as never,
        });
      for (let n = 0; n < 5_000; n += 1) {
        await update(`${n}`, { sessionUpdate: 'tool_call', title: `tool ${n} ${'x'.repeat(5_000)}` });
        await update(`${n}`, { sessionUpdate: 'tool_call_update', status: 'completed' });
      }
      return { stopReason: 'end_turn' };
    }
    if (text === 'deaf') {
      process.on('SIGTERM', () => {});
      setInterval(() => {}, 1_000);
      await new Promise(() => {});
    }
    if (text === 'fork') {
      const left = spawn('sleep', ['1000'], { stdio: 'inherit' });
      record({ forked: left.pid });
      process.exit(3);
    }
    if (text === 'exit') {
      await say('going');
      process.exit(3);
    }
    if (text === 'hold') await fileIsThere(process.env.ANSWER);
    await pause();
    await say('I have ');
    await pause();
    await say('it.');
    if (cancelled === undefined) return { stopReason: 'end_turn' };
    await cancelled;
    if (text === 'wait for two') await once(cancelling, 'cancel');
    return { stopReason: 'cancelled' };
  })
  .onNotification(methods.agent.session.cancel, () => void cancelling.emit('cancel'))
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>));
