import { setTimeout as sleep } from 'node:timers/promises';
import type { PassthroughEntry } from './agents-file.ts';
import { createScreen } from './screen.ts';
import { openTerminal } from './terminal.ts';
import { createTerminalOutput } from './terminal-output.ts';
import { type Agent, type Prompt, type Say, type Sent, TransportError } from './transport.ts';

const waitMs = 20_000;
const writeMs = 60_000;
const stopMs = 3_000;

/** A bracketed paste: line ends in it submit nothing. Acceptance refuses a prompt that could end it. */
const pasted = (text: string) => `\x1b[200~${text}\x1b[201~`;
const enter = '\r';

/**
 * Starts a terminal program, and waits until it waits for a prompt.
 *
 * @param signal Ends the program while it is starting.
 * @throws TransportError
 */
export async function startPassthroughAgent(entry: PassthroughEntry, say: Say, signal: AbortSignal): Promise<Agent> {
  const screen = createScreen(entry);
  const output = createTerminalOutput(say);
  const terminal = await openTerminal(entry, (text) => {
    output.add(text);
    screen.show(text);
  });
  const ended = terminal.ended.then((why) => {
    output.flush();
    return why;
  });
  const endAtOnce = () => terminal.signal('SIGKILL');
  signal.addEventListener('abort', endAtOnce);
  if (signal.aborted) endAtOnce();
  try {
    await waits();
  } catch (error) {
    await stop();
    throw error;
  } finally {
    signal.removeEventListener('abort', endAtOnce);
  }
  return { waits, send, stop, ended };

  async function waits(): Promise<void> {
    if (!terminal.alive()) throw new TransportError(await ended); // its last prompt may still be on the screen
    const why = await Promise.race([
      screen.waits(),
      ended,
      sleep(waitMs, `The agent's program did not wait for a prompt within ${waitMs / 1_000} seconds.`, { ref: false }),
    ]);
    if (why !== undefined) throw new TransportError(why);
  }

  async function send({ content }: Prompt): Promise<Sent> {
    output.begin();
    const written = await terminal.write(`${pasted(content)}${enter}`, writeMs);
    screen.submitted();
    if (!terminal.alive()) return { outcome: 'unknown', failure: await ended };
    if (!written) {
      await stop(); // half a paste would become the beginning of the next prompt
      return { outcome: 'unknown', failure: "The agent's program did not read the whole prompt, and was ended." };
    }
    const turn = screen.waits().then(() => {
      output.flush();
      return undefined;
    });
    return { outcome: 'accepted', turn };
  }

  async function stop(): Promise<void> {
    terminal.signal('SIGHUP');
    terminal.signal('SIGTERM');
    await Promise.race([ended, sleep(stopMs, undefined, { ref: false })]);
    terminal.signal('SIGKILL'); // what it has started, too
    await ended;
  }
}
