// An agent that speaks the Agent Client Protocol. It thinks, answers in pieces and changes nothing. What it was sent and
// what it said goes into the file named by its argument, one line of JSON for each prompt.
import { appendFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const record = process.argv[2] ?? '';

agent({ name: 'planledger-demo' })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: 'demo' }))
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const prompt = params.prompt.map((block) => (block.type === 'text' ? block.text : '')).join('');
    const say = (sessionUpdate: 'agent_thought_chunk' | 'agent_message_chunk', text: string) =>
      client.notify(methods.client.session.update, {
        sessionId: params.sessionId,
        update: { sessionUpdate, content: { type: 'text', text } },
      });
    const thought = 'The lines behind > are what somebody wrote about the plan.';
    const answer = ['I was asked: ', quoted(prompt), '\nI only answer in this demo, ', 'and leave the plan as it is.'];
    appendFileSync(record, `${JSON.stringify({ prompt, thought, answer: answer.join('') })}\n`);
    await say('agent_thought_chunk', thought);
    for (const piece of answer) await say('agent_message_chunk', piece);
    return { stopReason: 'end_turn' };
  })
  .onNotification(methods.agent.session.cancel, () => {})
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>));

function quoted(prompt: string): string {
  return [...prompt.matchAll(/^> (.*)$/gm)].map(([, line]) => line).join(' ');
}
