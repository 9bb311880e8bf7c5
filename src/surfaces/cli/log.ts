import { type Logger, pino } from 'pino';
import { UsageError } from './failure.ts';

/** The log, JSON lines on stderr from `level` on; PLANLEDGER_LOG_LEVEL overrides it. */
export function openLog(level: 'info' | 'warn'): Logger {
  const chosen = process.env.PLANLEDGER_LOG_LEVEL ?? level;
  if (chosen !== 'silent' && !(chosen in pino.levels.values)) {
    throw new UsageError(
      `PLANLEDGER_LOG_LEVEL=${chosen} is no level.`,
      `Use ${Object.keys(pino.levels.values).join(', ')} or silent.`,
    );
  }
  const stderr = pino.destination({ dest: 2, sync: true });
  stderr.on('error', () => {}); // nobody reads it, and there is nowhere else to say so
  return pino({ name: 'planledger', level: chosen }, stderr);
}
