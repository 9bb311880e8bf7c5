import { once } from 'node:events';
import { access, constants, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { errorCode, UsageError } from './failure.ts';
import { isEmptyOrOurs, readRunning } from './running.ts';

/**
 * Makes sure that a ready file can be written, before anything is started for it, and removes one that a killed start
 * left: whoever waits for the file must not read that one. The file of a start that runs is true and stays.
 *
 * @returns its absolute path.
 */
export async function prepareReadyFile(named: string): Promise<string> {
  const file = path.resolve(named);
  try {
    if (await isSomethingElse(file)) throw new Error('it is not an ordinary file');
    await access(path.dirname(file), constants.W_OK | constants.X_OK);
    if (!(await isEmptyOrOurs(file))) throw new Error('it holds something else');
    const running = await readRunning(file);
    if (running === undefined || !(await listens(running.url))) await rm(file, { force: true });
  } catch (error) {
    throw new UsageError(
      `Cannot use ${file} as ready file: ${error instanceof Error ? error.message : error}.`,
      'Give --ready-file a file in a folder that exists and that you may write to, and that holds nothing else.',
    );
  }
  return file;
}

/** A folder, or a device: as root, replacing that one would succeed. */
async function isSomethingElse(file: string): Promise<boolean> {
  return await stat(file).then(
    (found) => !found.isFile(),
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
}

/** A pid alone may be that of a killed process nobody has reaped, or another program's by now. */
async function listens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname.replace(/^\[(.*)\]$/, '$1')); // a URL has brackets around IPv6
  return await once(socket, 'connect')
    .then(
      () => true,
      () => false,
    )
    .finally(() => socket.destroy());
}
