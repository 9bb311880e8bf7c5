import path from 'node:path';

/** Something did not come out as it must, for people. */
export class DemoError extends Error {}

/** A program of this folder, beside this file: TypeScript in a checkout, JavaScript in the package. */
export function programFile(name: 'agent' | 'appender'): string {
  return path.join(import.meta.dirname, `${name}${path.extname(import.meta.filename)}`);
}
