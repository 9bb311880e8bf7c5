import { speak } from './speech.ts';
import type { Say } from './transport.ts';

/** Rows of a transcript made of what a terminal program shows. */
export interface TerminalOutput {
  add(text: string): void;
  /** Says what is still held back. */
  flush(): void;
  /** A turn begins: there is room for what it shows. */
  begin(): void;
}

const heldMs = 1_000;
const heldChars = 200_000;
const turnChars = 2_000_000;
const cutNote = '\n[The program shows more in this turn; only the first 2,000,000 characters are kept.]\n';

/** What is shown within a second is one row. Escape sequences stay in it, for whoever renders them. */
export function createTerminalOutput(say: Say): TerminalOutput {
  let held = '';
  let left = turnChars;
  let timer: NodeJS.Timeout | undefined;

  return {
    add,
    flush,
    begin() {
      flush();
      left = turnChars;
    },
  };

  function add(text: string): void {
    if (left === 0) return;
    held += text.slice(0, left);
    left = Math.max(0, left - text.length);
    if (left === 0) held += cutNote;
    if (left === 0 || held.length >= heldChars) flush();
    else timer ??= setTimeout(flush, heldMs);
  }

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const text = held;
    held = '';
    speak(say, 'terminal', text);
  }
}
