import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { Kind, Say } from './transport.ts';

/** Rows of a transcript made of the pieces in which an agent says things. */
export interface Speech {
  update(update: SessionUpdate): void;
  /** Says what is still held back. */
  flush(): void;
}

const heldMs = 2_000;
const heldChars = 200_000;
/** So many characters at most, each whole. */
const partPattern = /^.{1,200000}/su;

/** Pieces of one kind are one row; a long one is cut after a line, so that people see it grow. */
export function createSpeech(say: Say): Speech {
  let kind: Kind = 'message';
  let held = '';
  let since = 0;
  const titles = new Map<string, string>();

  return { update, flush };

  function update(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
      case 'agent_thought_chunk':
        if (update.content.type !== 'text') return;
        add(update.sessionUpdate === 'agent_message_chunk' ? 'message' : 'thought', update.content.text);
        return;
      case 'tool_call':
        titles.set(update.toolCallId, update.title);
        return;
      case 'tool_call_update':
        if (update.title) titles.set(update.toolCallId, update.title);
        if (update.status !== 'completed' && update.status !== 'failed') return;
        flush();
        speak(say, 'tool', `${titles.get(update.toolCallId) ?? update.toolCallId}: ${update.status}`);
        titles.delete(update.toolCallId);
    }
  }

  function add(next: Kind, text: string): void {
    if (next !== kind) flush();
    if (held === '') since = performance.now();
    kind = next;
    held += text;
    if (held.length < heldChars && performance.now() - since < heldMs) return;
    const line = held.lastIndexOf('\n') + 1;
    const cut = line > 0 ? line : held.length >= heldChars ? held.length : 0;
    speak(say, kind, held.slice(0, cut));
    held = held.slice(cut);
    since = performance.now();
  }

  function flush(): void {
    const text = held;
    held = '';
    speak(say, kind, text);
  }
}

/** Says a text of any length. A row holds no U+0000 and no half character; what an agent sends may. */
export function speak(say: Say, kind: Kind, text: string): void {
  let rest = text.toWellFormed().replaceAll('\0', '\ufffd');
  while (rest !== '') {
    const [part = ''] = partPattern.exec(rest) ?? [];
    say(kind, part);
    rest = rest.slice(part.length);
  }
}
