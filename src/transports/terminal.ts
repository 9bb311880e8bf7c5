import { writeSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import type { IPty } from '@lydell/node-pty';
import type { PassthroughEntry } from './agents-file.ts';
import { agentEnvironment } from './environment.ts';
import { TransportError } from './transport.ts';

/** A program in a terminal of its own. */
export interface Terminal {
  /** Writes all of it, however slowly the program reads; false where the program ended first, or `ms` were over. */
  write(text: string, ms: number): Promise<boolean>;
  alive(): boolean;
  /** To the program and its process group. */
  signal(signal: NodeJS.Signals): void;
  /** Settles when the program has ended, with why, for people. */
  ended: Promise<string>;
}

/** What the library has besides its declared interface. */
type Pty = IPty & { fd: number; on(event: 'close' | 'error', listener: () => void): void };

const size = { cols: 120, rows: 40 };
const againMs = 5;
/** Of a terminal that the worker itself may run in. */
const outer = ['COLUMNS', 'LINES', 'TERMCAP', 'TMUX', 'TMUX_PANE', 'STY', 'WINDOW', 'WINDOWID'];

/** Runs the program of an agent; what it shows goes to `show`, in whole characters. @throws TransportError */
export async function openTerminal(entry: PassthroughEntry, show: (text: string) => void): Promise<Terminal> {
  const pty = await spawned(entry);
  let open = true;
  let tail = '';
  let writing: Promise<unknown> = Promise.resolve();
  pty.on('close', () => {
    open = false;
  });
  pty.on('error', () => {}); // its end says why
  pty.onData((text) => {
    tail = (tail + text).slice(-2_000);
    show(text);
  });
  const ended = new Promise<string>((resolve) => {
    pty.onExit(({ exitCode, signal }) => {
      open = false;
      resolve(ending(entry.command, exitCode, signal, tail));
    });
  });
  return { write, alive, signal, ended };

  function write(text: string, ms: number): Promise<boolean> {
    const written = writing.then(() => writeAll(Buffer.from(text), performance.now() + ms));
    writing = written;
    return written;
  }

  /** The library's own write stops the whole process until a slow reader has read. */
  async function writeAll(bytes: Buffer, until: number): Promise<boolean> {
    let rest = bytes;
    while (alive() && performance.now() < until) {
      const taken = writeSome(rest);
      if (taken === undefined) return false;
      rest = rest.subarray(taken);
      if (rest.length === 0) return true;
      if (taken === 0) await sleep(againMs);
    }
    return false;
  }

  /** How many bytes the terminal took, which never blocks; undefined where it is gone. */
  function writeSome(bytes: Buffer): number | undefined {
    try {
      return writeSync(pty.fd, bytes);
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'EAGAIN' ? 0 : undefined;
    }
  }

  /** A descriptor that is closed may be another's already, so this is asked before each use. */
  function alive(): boolean {
    return open && reaches(pty.pid, 0);
  }

  function signal(signal: NodeJS.Signals): void {
    reaches(-pty.pid, signal);
  }
}

async function spawned({ command, args, cwd, env }: PassthroughEntry): Promise<Pty> {
  if (process.platform === 'win32') throw new TransportError('A terminal program cannot be run on Windows.');
  const own = agentEnvironment({});
  for (const name of outer) delete own[name];
  try {
    const { spawn } = await import('@lydell/node-pty');
    return spawn(command, args, { ...size, cwd, env: { ...own, TERM: 'xterm-256color', ...env } }) as Pty;
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).trim().split('\n');
    throw new TransportError(`The agent's program cannot be run in a terminal: ${why}`);
  }
}

function reaches(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // it has ended
  }
}

function ending(command: string, exitCode: number, signal: number | undefined, tail: string): string {
  const text = stripVTControlCharacters(tail);
  const [, step, why] = /^(execvp|chdir)\(\d\) failed\.: ([^\r\n]*)/.exec(text) ?? [];
  if (step !== undefined) {
    return `The agent's program cannot be started: ${step === 'chdir' ? 'its folder' : command}: ${why}.`;
  }
  const [name] = Object.entries(constants.signals).find(([, number]) => number === signal) ?? [];
  const how = name === undefined ? `with exit code ${exitCode}` : `by ${name}`;
  const last =
    text
      .trim()
      .split(/[\r\n]+/)
      .at(-1) ?? '';
  return `The agent's program ended ${how}${last === '' ? '.' : `: ${last.slice(-500)}`}`;
}
