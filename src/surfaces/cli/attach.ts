import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import mime from 'mime/lite';
import type { Ledger } from '../../ledger/generated.ts';
import type { On } from './caller.ts';
import { UsageError } from './failure.ts';

/** Has a command take files that go out with its prompt. */
export function takesFiles(command: Command): Command {
  const list = (value: string, before: string[] | undefined) => [...(before ?? []), value];
  return command.option('--attach <file>', 'a file that goes with the prompt (may be repeated)', list);
}

/**
 * Stages the files that a prompt names, and answers their ids. Each id follows from the id of the request, the caller,
 * and the file's place, name and bytes: a repeat with the same files asks for the same, and with others for something
 * else.
 */
export async function stageFiles(
  ledger: Ledger,
  on: On,
  files: string[] | undefined,
  clientId: string,
): Promise<string[]> {
  if (files === undefined) return [];
  const { attachment_max_bytes } = await ledger.attachmentMaxBytes({});
  const ids: string[] = [];
  for (const [place, file] of files.entries()) {
    const content = await readAttachment(file, attachment_max_bytes);
    const name = path.basename(file);
    const digest = createHash('sha256').update(content).digest('hex');
    const identity = JSON.stringify([on.principal, on.task_id, clientId, place, name, digest]);
    const { id } = await ledger.attachmentStage({
      ...on,
      name,
      media_type: mime.getType(name) ?? 'application/octet-stream',
      content,
      attachment_id: createHash('sha256').update(identity).digest('hex').slice(0, 32),
    });
    ids.push(id);
  }
  return ids;
}

/** Of a file that is too large no more is read than shows it. */
async function readAttachment(file: string, maxBytes: number): Promise<Buffer> {
  const content = await buffer(createReadStream(file, { end: maxBytes })).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Cannot read ${file}: ${error.message.replace(/, \w+( '.*')?$/s, '')}.`, 'Correct --attach.');
  });
  if (content.length > 0 && content.length <= maxBytes) return content;
  const problem = content.length === 0 ? 'is empty' : `has more than ${maxBytes} bytes`;
  throw new UsageError(`${file} ${problem}. Nothing was sent.`, 'Correct --attach.');
}
