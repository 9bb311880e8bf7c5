import { type Command, Option } from 'commander';
import { asAdministrator, databaseOptions, findTarget } from './caller.ts';
import { errorCode, UsageError } from './failure.ts';
import { note, printJson, printLine, printTable, when } from './output.ts';

interface DatabaseOptions {
  databaseUrl?: string;
  dataDir?: string;
  json?: boolean;
}

interface CreateOptions extends DatabaseOptions {
  workspace: string;
  kind: string;
  name?: string;
  scopes?: string[];
  readOnly?: boolean;
  task?: string;
  expiresIn?: string;
}

/** `planledger token …` and `planledger workspace create`: administration, with the rights of the database login. */
export function addTokenCommands(program: Command): void {
  const token = program.command('token').description('make, list and revoke access tokens (for administrators)');
  const create = token
    .command('create')
    .description('make a principal and an access token for it, which is printed once')
    .requiredOption('--workspace <id>', 'the workspace whose tasks it reaches')
    .option('--kind <kind>', 'user, agent (needs --task) or service', 'user')
    .option('--name <name>', 'author name in history')
    .option('--task <id>', 'the task an agent works on')
    .option('--scopes <list>', 'comma-separated, such as plan:read,plan:write (default: all)', (list) =>
      list.split(','),
    )
    .addOption(new Option('--read-only', 'may read plans and tasks, and change nothing').conflicts('scopes'))
    .option('--expires-in <time>', 'such as 30d or 12h (default: never)')
    .option('--json', 'print it as JSON');
  databaseOptions(create).action(createToken);

  const list = token
    .command('list')
    .description('list access tokens (never the tokens themselves)')
    .option('--workspace <id>', 'only those of one workspace')
    .option('--json', 'print the list as JSON');
  databaseOptions(list).action(listTokens);

  const revoke = token
    .command('revoke')
    .description('stop an access token at once')
    .argument('<id>', 'its id, as `token list` shows it')
    .option('--json', 'print it as JSON');
  databaseOptions(revoke).action(async (id: string, options: DatabaseOptions) => {
    const { databaseUrl } = await findTarget(options);
    const row = await asAdministrator(databaseUrl, (ledger) => ledger.tokenRevoke({ token_id: id }));
    if (options.json) printJson(row);
    else printLine(`revoked ${row.id} (${row.name}) at ${when(row.revoked_at)} UTC`);
  });

  const workspace = program.command('workspace').description('make workspaces (for administrators)');
  const createWorkspace = workspace
    .command('create')
    .description('make a workspace, the boundary of what a token reaches')
    .argument('<name>', 'for people')
    .option('--id <id>', 'workspace id of your choice (default: a generated one)')
    .option('--json', 'print it as JSON');
  databaseOptions(createWorkspace).action(async (name: string, options: DatabaseOptions & { id?: string }) => {
    const { databaseUrl } = await findTarget(options);
    const row = await asAdministrator(databaseUrl, (ledger) =>
      ledger.workspaceCreate({ name, workspace_id: options.id }),
    );
    if (options.json) return printJson(row);
    note(`Created workspace "${name}":`);
    printLine(row.id); // alone on stdout, for $(…)
  });
}

async function createToken(options: CreateOptions): Promise<void> {
  const { databaseUrl } = await findTarget(options);
  const made = await asAdministrator(databaseUrl, async (ledger) => {
    const principal = await ledger.principalCreate({
      workspace_id: options.workspace,
      kind: options.kind,
      display_name: options.name,
      scopes: options.readOnly ? ['plan:read', 'task:read'] : options.scopes,
      task_id: options.task,
    });
    const token = await ledger
      .tokenCreate({ principal: principal.id, name: options.name ?? options.kind, expires_in: options.expiresIn })
      .catch((error: Error) => {
        if (!['22007', '22008', '22015'].includes(errorCode(error.cause))) throw error;
        throw new UsageError(
          `${options.expiresIn} is not a length of time.`,
          'Give --expires-in as 30d, 12h or 90 minutes.',
        );
      });
    return { principal, token };
  });
  if (options.json) {
    const { id, ...principal } = made.principal;
    return printJson({ ...principal, ...made.token, principal_id: id });
  }
  printLine(made.token.token);
  const end = made.token.expires_at === null ? 'does not expire' : `works until ${when(made.token.expires_at)} UTC`;
  note(
    `Token ${made.token.id}, "${options.name ?? options.kind}", for kind ${made.principal.kind} (${made.principal.scopes.join(', ')}); it ${end}.`,
  );
  note('It cannot be shown again. Keep it as PLANLEDGER_TOKEN.');
}

async function listTokens(options: DatabaseOptions & { workspace?: string }): Promise<void> {
  const { databaseUrl } = await findTarget(options);
  const rows = await asAdministrator(databaseUrl, (ledger) => ledger.tokenList({ workspace_id: options.workspace }));
  if (options.json) return printJson(rows);
  if (rows.length === 0) return printLine('no tokens');
  printTable(
    ['ID', 'NAME', 'KIND', 'WORKSPACE', 'TASK', 'SCOPES', 'CREATED (UTC)', 'STATE'],
    rows.map((row) => [
      row.id,
      row.name,
      row.kind,
      row.workspace_id,
      row.task_id ?? '-',
      row.scopes.join(','),
      when(row.created_at),
      tokenState(row),
    ]),
  );
}

function tokenState(row: { works: boolean; revoked_at: Date | null; expires_at: Date | null }): string {
  if (row.revoked_at !== null) return `revoked ${when(row.revoked_at)}`;
  if (row.expires_at === null) return 'works';
  return row.works ? `works until ${when(row.expires_at)}` : `expired ${when(row.expires_at)}`;
}
