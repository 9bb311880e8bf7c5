/** The largest message either transport takes, in bytes: a legal call, however its texts are escaped, has about 3 MB. */
export const maxMessageBytes = 8 * 1024 * 1024;

/** What is longer is still read, up to this, and refused: so its sender gets an answer. */
export const maxReadBytes = 8 * maxMessageBytes;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads JSON, refusing bytes that are not UTF-8: a lenient decoder would replace them, and text would be altered. A
 * problem comes with the value where there is one, so that its request can be answered.
 */
export function parseJson(bytes: Uint8Array): { value: unknown; problem?: string } {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return { value: undefined, problem: 'The message is not valid UTF-8.' };
  }
  try {
    const value: unknown = JSON.parse(text);
    // Such a key vanishes where objects are copied, so an argument of that name could not be refused later.
    return hasHiddenMember(value)
      ? { value, problem: 'The message has a member named __proto__, which no argument is called.' }
      : { value };
  } catch {
    return { value: undefined, problem: 'The message is not valid JSON.' };
  }
}

/** By a walk and not by a reviver of JSON.parse, which holds up the process for seconds with the largest messages. */
function hasHiddenMember(value: unknown): boolean {
  const pending: object[] = typeof value === 'object' && value !== null ? [value] : [];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (Object.hasOwn(part, '__proto__')) return true;
    for (const member of Array.isArray(part) ? part : Object.values(part)) {
      if (typeof member === 'object' && member !== null) pending.push(member);
    }
  }
  return false;
}

/** The id of a JSON-RPC request, which its refusal carries; null where it cannot be known. */
export function requestIdOf(message: unknown): string | number | null {
  const id = typeof message === 'object' && message !== null && 'id' in message ? message.id : null;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}
