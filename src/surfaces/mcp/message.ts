/** The largest message either transport takes, in bytes: a legal call, however its texts are escaped, has about 3 MB. */
export const maxMessageBytes = 8 * 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Reads JSON, refusing bytes that are not UTF-8: a lenient decoder would replace them, and text would be altered. */
export function parseJson(bytes: Uint8Array): { value: unknown } | { problem: string } {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { problem: 'The message is not valid UTF-8.' };
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { problem: 'The message is not valid JSON.' };
  }
}
