import type { Command } from 'commander';
import { connect, type Sql } from '../../postgres/connect.ts';
import { databaseOptions, findTarget } from './caller.ts';
import { checkIntegrity, checkPrivileges, checkRoles } from './doctor-access.ts';
import { checkExecution, checkFunctions } from './doctor-functions.ts';
import { checkDeliveries, checkJobs } from './doctor-jobs.ts';
import { type Check, fail, ok, report, warn } from './doctor-report.ts';
import { checkSchema, checkViews } from './doctor-schema.ts';
import { checkInstallation, checkLocks, checkServer, checkSettings } from './doctor-server.ts';
import { describeFailure, UsageError } from './failure.ts';

interface DoctorOptions {
  databaseUrl?: string;
  dataDir?: string;
  json?: boolean;
}

/** `planledger doctor`. */
export function addDoctorCommand(program: Command): void {
  const command = program
    .command('doctor')
    .description('check a database and say what to do; exit code 1 when something fails')
    .option('--json', 'print the checks as JSON');
  databaseOptions(command).action(async (options: DoctorOptions) => {
    const { databaseUrl } = await findTarget(options);
    report(await examine(databaseUrl), options.json ?? false);
  });
}

async function examine(databaseUrl: string): Promise<Check[]> {
  const checks: Check[] = [];
  const opened = await attempt('database', () =>
    connect(databaseUrl, { max: 1, role: null, applicationName: 'planledger doctor' }),
  );
  if ('check' in opened) return [opened];
  const sql = opened.value;
  try {
    checks.push(ok('database', await whereAndWho(sql)), ...(await checkServer(sql)));
    const schema = await checkInstallation(sql);
    checks.push(schema);
    const [present] = await sql<{ present: boolean }[]>`select to_regnamespace('planledger') is not null as present`;
    if (!present?.present) return checks;
    for (const [name, check] of Object.entries({
      structure: checkSchema,
      functions: checkFunctions,
      views: checkViews,
      execution: checkExecution,
      roles: checkRoles,
      privileges: checkPrivileges,
      integrity: checkIntegrity,
      locks: checkLocks,
      jobs: checkJobs,
      deliveries: checkDeliveries,
    })) {
      const done = await attempt<Check | Check[]>(name, () => check(sql));
      checks.push(...('check' in done ? [done] : [done.value].flat()));
    }
  } finally {
    await sql.end({ timeout: 1 });
  }
  checks.push(...(await examineAsApplication(databaseUrl)));
  return checks;
}

async function examineAsApplication(databaseUrl: string): Promise<Check[]> {
  const opened = await attempt('application', () =>
    connect(databaseUrl, { max: 1, applicationName: 'planledger doctor' }),
  );
  if ('check' in opened) return [opened];
  const app = opened.value;
  try {
    const done = await attempt('application', () => checkSettings(app));
    return 'check' in done ? [done] : done.value;
  } finally {
    await app.end({ timeout: 1 });
  }
}

async function whereAndWho(sql: Sql): Promise<string> {
  const [row] = await sql<{ name: string; login: string }[]>`
    select current_database() as name, session_user::text as login`;
  return `${row?.name} on ${sql.options.host.join(', ')}:${sql.options.port.join(', ')} as ${row?.login}`;
}

/** A check that cannot be made is a finding, and not the end of the others. */
async function attempt<T>(name: string, work: () => Promise<T>): Promise<{ value: T } | Check> {
  try {
    return { value: await work() };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code, message, nextAction, exitCode } = describeFailure(error);
    if (exitCode === 2) throw error;
    if (code === 'database_rights' && name !== 'application') {
      return warn(name, `not checked: ${message}`, 'Run doctor as a member of planledger_owner.');
    }
    return fail(name, message, nextAction);
  }
}
