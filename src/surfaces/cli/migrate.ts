import type { Command } from 'commander';
import { migrate } from '../../postgres/migrate.ts';
import { requireDatabaseUrl } from './caller.ts';
import { note, printJson, printLine } from './output.ts';

/** `planledger migrate`. */
export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description("bring a database to this program's schema; safe to repeat, and from many processes at once")
    .option('--database-url <url>', 'database to use (default: DATABASE_URL)')
    .option('--json', 'print what was done as JSON')
    .action(async (options: { databaseUrl?: string; json?: boolean }) => {
      const report = await migrate(requireDatabaseUrl(options), note);
      if (options.json) return printJson(report);
      const done = [
        ...report.applied.map((name) => `migration ${name}`),
        ...(report.functionsApplied ? ['functions'] : []),
      ];
      printLine(done.length === 0 ? 'The database is up to date.' : `Applied: ${done.join(', ')}.`);
    });
}
