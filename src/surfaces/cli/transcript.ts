import type { Ledger, Message } from '../../ledger/generated.ts';
import { printJson, printLine, when } from './output.ts';

interface Place {
  principal: string;
  task_id: string;
  session_id: string;
}

/** Prints what was said in a session, oldest first. */
export async function showTranscript(ledger: Ledger, place: Place, options: { json?: boolean }): Promise<void> {
  const messages = await allMessages(ledger, place);
  if (options.json) return printJson(messages);
  if (messages.length === 0) return printLine('no messages');
  for (const message of messages) {
    printLine(
      `-- ${message.author_name} (${message.role}, ${message.kind}), ${when(message.created_at)}${files(message)}`,
    );
    // Only a heading begins at the margin, so that no text can pass for one.
    for (const line of linesOf(message.content)) printLine(line === '' ? '' : `  ${line}`);
  }
}

/** The lines of a text, which are printed one by one: a line end is the one control character that is acted on. */
export function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
}

function files({ attachments }: Message): string {
  return attachments.map(({ name, bytes }) => `, with ${name} (${bytes} bytes)`).join('');
}

/** The last page comes first. */
async function allMessages(ledger: Ledger, place: Place): Promise<Message[]> {
  const pages: Message[][] = [];
  for (;;) {
    const page = await ledger.messageList({ ...place, before_message_id: pages.at(-1)?.[0]?.id });
    if (page.length === 0) return pages.reverse().flat();
    pages.push(page);
  }
}
