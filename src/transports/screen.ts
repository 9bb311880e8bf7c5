import { stripVTControlCharacters } from 'node:util';
import type { PassthroughEntry } from './agents-file.ts';

/** Tells from what a terminal program shows whether it waits for a prompt. */
export interface Screen {
  show(text: string): void;
  /** A prompt has been submitted: only what is shown from now on says that the program waits again. */
  submitted(): void;
  /** Resolves when the program waits for a prompt. */
  waits(): Promise<void>;
}

const keptChars = 16_000;
const settleMs = 100; // a prompt that is only passed by, in the middle of an answer, is not one

/** @see PassthroughEntry */
export function createScreen({ ready, quiet_ms }: PassthroughEntry): Screen {
  const atEnd = ready === undefined ? /$/u : new RegExp(`(?:${ready})\\s*$`, 'u');
  let shown = '';
  let waiting = Promise.withResolvers<void>();
  let settled = false;
  let timer: NodeJS.Timeout | undefined;

  return { show, submitted, waits: () => waiting.promise };

  function show(text: string): void {
    shown = (shown + text).slice(-keptChars);
    unsettle();
    timer = setTimeout(look, ready === undefined ? quiet_ms : settleMs);
  }

  function submitted(): void {
    shown = '';
    unsettle();
  }

  function unsettle(): void {
    clearTimeout(timer);
    if (settled) waiting = Promise.withResolvers();
    settled = false;
  }

  function look(): void {
    settled = atEnd.test(stripVTControlCharacters(shown).replaceAll('\r', ''));
    if (settled) waiting.resolve();
  }
}
