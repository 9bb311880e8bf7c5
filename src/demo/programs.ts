import path from 'node:path';

/** Something did not come out as it must, for people. */
export class DemoError extends Error {}

/** A program of this folder, beside this file: TypeScript in a checkout, JavaScript in the package. */
export function programFile(name: 'agent' | 'appender'): string {
  return path.join(import.meta.dirname, `${name}${path.extname(import.meta.filename)}`);
}

/** The environment of a program of the demo, which has nothing to do with the database of whoever runs it. */
export function programEnvironment(own: Record<string, string>): NodeJS.ProcessEnv {
  const kept = ([name]: [string, unknown]) => name !== 'DATABASE_URL' && !name.startsWith('PLANLEDGER_');
  return { ...Object.fromEntries(Object.entries(process.env).filter(kept)), ...own };
}
