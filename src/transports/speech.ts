import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { Kind, Say } from './transport.ts';

/** Rows of a transcript made of the pieces in which an agent says things. */
export interface Speech {
  update(update: SessionUpdate): void;
  /** Says what is still held back. */
  flush(): void;
  /** A turn begins: there is room for what it says. */
  begin(): void;
}

const heldMs = 2_000;
const heldChars = 200_000;
const turnChars = 2_000_000;
const turnRows = 2_000;
const titleChars = 1_000;
const titlesMax = 1_000;
const cutNote = '[The agent says more in this turn; only the first 2,000,000 characters, in 2,000 rows, are kept.]';
/** So many characters at most, each whole. */
const partPattern = /^.{1,200000}/su;

/** Pieces of one kind are one row, which ends at a pause; a long one is cut after a line, so that people see it grow. */
export function createSpeech(told: Say): Speech {
  let kind: Kind = 'message';
  let held = '';
  let since = 0;
  let timer: NodeJS.Timeout | undefined;
  let left = { chars: turnChars, rows: turnRows };
  const titles = new Map<string, string>();

  return { update, flush, begin };

  function begin(): void {
    flush();
    titles.clear();
    left = { chars: turnChars, rows: turnRows };
  }

  /** So much for a turn: what an agent says is kept by the worker until it is written. */
  function say(as: Kind, text: string): void {
    if (left.rows === 0) return;
    left = { chars: left.chars - text.length, rows: left.chars > text.length ? left.rows - 1 : 0 };
    if (left.rows > 0) told(as, text);
    else told(as, cutNote);
  }

  function name(id: string, title: string): void {
    if (titles.size < titlesMax || titles.has(id)) titles.set(id, title.slice(0, titleChars));
  }

  function update(update: SessionUpdate): void {
    switch (update.sessionUpdate) {
      case 'agent_message_chunk':
      case 'agent_thought_chunk':
        if (update.content.type !== 'text') return;
        add(update.sessionUpdate === 'agent_message_chunk' ? 'message' : 'thought', update.content.text);
        return;
      case 'tool_call':
        name(update.toolCallId, update.title);
        return;
      case 'tool_call_update':
        if (update.title) name(update.toolCallId, update.title);
        if (update.status !== 'completed' && update.status !== 'failed') return;
        flush();
        speak(
          say,
          'tool',
          `${titles.get(update.toolCallId) ?? update.toolCallId.slice(0, titleChars)}: ${update.status}`,
        );
        titles.delete(update.toolCallId);
    }
  }

  function add(next: Kind, text: string): void {
    if (next !== kind) flush();
    if (held === '') since = performance.now();
    kind = next;
    if (left.rows > 0) held += text;
    clearTimeout(timer);
    timer = setTimeout(flush, heldMs);
    if (held.length < heldChars && performance.now() - since < heldMs) return;
    const line = held.lastIndexOf('\n') + 1;
    cut(line > 0 ? line : held.length >= heldChars ? held.length : 0);
    since = performance.now();
  }

  function flush(): void {
    clearTimeout(timer);
    cut(held.length);
  }

  function cut(at: number): void {
    const text = held.slice(0, at);
    held = held.slice(at);
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
