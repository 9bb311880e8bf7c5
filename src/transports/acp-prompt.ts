import { isUtf8 } from 'node:buffer';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ContentBlock, InitializeResponse } from '@agentclientprotocol/sdk';
import type { Prompt } from './transport.ts';

type File = Prompt['attachments'][number];

/** Files for an agent that takes only links to them: in a folder of its own, as long as its process lives. */
export interface LinkedFiles {
  /** Writes a file, and answers its address. */
  write(file: File): Promise<string>;
  remove(): Promise<void>;
}

export function createLinkedFiles(): LinkedFiles {
  let folder: Promise<string> | undefined;
  return {
    async write({ id, name, content }) {
      folder ??= mkdtemp(path.join(tmpdir(), 'planledger-files-'));
      // A name of 200 characters may be longer than a file system takes.
      const extension = /\.[a-z0-9]{1,16}$/i.exec(name)?.[0] ?? '';
      const file = path.join(await folder, `${id}${extension}`);
      await writeFile(file, content);
      return pathToFileURL(file).href;
    },
    async remove() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}

/** The prompt's text is one block, byte for byte; files follow it in the form that the agent takes. */
export async function promptBlocks(
  { content, attachments }: Prompt,
  capabilities: InitializeResponse['agentCapabilities'],
  links: LinkedFiles,
): Promise<ContentBlock[]> {
  const files: ContentBlock[] = [];
  for (const file of attachments) files.push(await fileBlock(file, capabilities?.promptCapabilities ?? {}, links));
  return [{ type: 'text', text: content }, ...files];
}

async function fileBlock(
  file: File,
  takes: { image?: boolean; embeddedContext?: boolean },
  links: LinkedFiles,
): Promise<ContentBlock> {
  const { id, name, media_type: mimeType } = file;
  const content = Buffer.from(file.content);
  if (takes.image && mimeType.startsWith('image/')) {
    return { type: 'image', data: content.toString('base64'), mimeType };
  }
  if (takes.embeddedContext) {
    const about = { uri: `attachment:${id}/${encodeURIComponent(name)}`, mimeType };
    // Not every agent looks into what is no text.
    const body = isUtf8(content) ? { text: content.toString() } : { blob: content.toString('base64') };
    return { type: 'resource', resource: { ...about, ...body } };
  }
  return { type: 'resource_link', uri: await links.write(file), name, mimeType, size: content.length };
}
