import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TurnStartHook } from '../../admission/turn-start.ts';
import { UsageError } from './failure.ts';

/** What the option says of itself. */
export const hooksOption = 'module with what is called before a prompt is accepted (default: PLANLEDGER_HOOKS)';

/** The turn-start hooks of a server: those that the module named exports by default, one or a list, or none. */
export async function findHooks(named: string | undefined): Promise<readonly TurnStartHook[]> {
  const file = named ?? process.env.PLANLEDGER_HOOKS ?? '';
  if (file === '') return [];
  let module: { default?: unknown };
  try {
    module = await import(pathToFileURL(path.resolve(file)).href);
  } catch (error) {
    throw new UsageError(
      `Cannot load ${file}: ${String(error instanceof Error ? error.message : error).replace(/\.$/, '')}.`,
      'Correct --hooks or the module; docs/hooks.md shows one.',
    );
  }
  const hooks = [module.default].flat();
  if (hooks.length > 0 && hooks.every((hook) => typeof hook === 'function')) return hooks as TurnStartHook[];
  throw new UsageError(
    `${file} exports no hooks.`,
    'Export a function, or a list of them, by default; docs/hooks.md shows one.',
  );
}
