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
  let hidden = false;
  try {
    const value: unknown = JSON.parse(text, (key, part: unknown) => {
      hidden ||= key === '__proto__';
      return part;
    });
    // Such a key vanishes where objects are copied, so an argument of that name could not be refused later.
    return hidden ? { problem: 'The message has a member named __proto__, which no argument is called.' } : { value };
  } catch {
    return { problem: 'The message is not valid JSON.' };
  }
}
