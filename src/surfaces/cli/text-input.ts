import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { maxMessageBytes } from '../message.ts';
import { UsageError } from './failure.ts';

/** What `takesText` adds to the options of a command. */
export interface TextOptions {
  file?: string;
}

/** Has a command take a text as its last argument, or from a file. */
export function takesText(command: Command): Command {
  return command
    .argument('[text]', 'the text, or - to read it from stdin')
    .option('--file <file>', 'read the text from a file')
    .allowUnknownOption(); // a Markdown list item begins with a dash; readText refuses what looks like an option
}

/**
 * A text that is to be stored, from exactly one place: an argument, `--file`, or stdin for `-`.
 *
 * @throws UsageError when it comes from none or two, cannot be read, or is not UTF-8 (it would be stored altered).
 */
export async function readText(argument: string | undefined, file: string | undefined): Promise<string> {
  if ((argument === undefined) === (file === undefined)) {
    throw new UsageError('Give the text once: as an argument, with --file, or `-` for stdin.', 'See --help.');
  }
  if (argument === '-') return decode(await buffer(process.stdin), 'stdin');
  if (argument !== undefined) {
    // Options are not taken for text; a list item (`- [ ] …`) is text.
    if (/^--?[\w-]+(=|$)/.test(argument)) {
      throw new UsageError(`Unknown option ${argument}.`, 'See --help. To store it as text, pass it through stdin.');
    }
    return argument;
  }
  const path = file ?? '';
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${path}: ${error.message.replace(/, \w+ '.*'$/s, '')}.`, 'Correct --file.');
  });
  return decode(bytes, path);
}

function decode(bytes: Uint8Array, source: string): string {
  // What the rules allow is far less, and PostgreSQL refuses what is far more in words of its own.
  if (bytes.length > maxMessageBytes) {
    throw new UsageError(`${source} has ${bytes.length} bytes, more than any text here may have.`, 'Send less of it.');
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError(`${source} is not UTF-8 text.`, 'Convert it to UTF-8; nothing was written.');
  }
}
