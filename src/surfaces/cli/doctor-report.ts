import { printJson, printLine } from './output.ts';

/** One thing the doctor looked at. */
export interface Check {
  check: string;
  status: 'ok' | 'warn' | 'fail';
  /** What is there. */
  found: string;
  /** What to do about it; empty when ok. */
  advice: string;
}

/** A check that is fine. */
export function ok(check: string, found: string): Check {
  return { check, status: 'ok', found, advice: '' };
}

/** A check that deserves a look, but nothing fails because of it. */
export function warn(check: string, found: string, advice: string): Check {
  return { check, status: 'warn', found, advice };
}

/** A check without which calls fail or guarantees do not hold. */
export function fail(check: string, found: string, advice: string): Check {
  return { check, status: 'fail', found, advice };
}

/** Prints all checks and sets the exit code: 1 when one failed. */
export function report(checks: readonly Check[], asJson: boolean): void {
  const failed = checks.filter(({ status }) => status === 'fail').length;
  const warned = checks.filter(({ status }) => status === 'warn').length;
  if (failed > 0) process.exitCode = 1;
  if (asJson) {
    printJson({ ok: failed === 0, checks });
    return;
  }
  const width = Math.max(...checks.map(({ check }) => check.length));
  for (const { check, status, found, advice } of checks) {
    printLine(`${status.padEnd(4)}  ${check.padEnd(width)}  ${found}`);
    if (advice !== '') printLine(`${' '.repeat(width + 8)}${advice}`);
  }
  printLine(failed + warned === 0 ? 'All is well.' : `${failed} failed, ${warned} to look at.`);
}
