import type { Sql } from '../../src/postgres/connect.ts';

interface FunctionRow {
  name: string;
  operation: string;
  writes: boolean;
  arguments: string[];
  types: string[];
  optional: number;
  columns: { name: string; type: string }[];
  scalar: string | null;
  comment: string;
}

const many = new Set([
  'agents_tend',
  'error_catalog',
  'event_audience',
  'events_read',
  'installation',
  'message_list',
  'receipt_attachments',
  'receipt_list',
  'revision_list',
  'session_list',
  'task_list',
  'token_list',
]);
const maybe = new Set(['delivery_get', 'message_get', 'plan_get', 'receipt_get']);
const nullable = new Set([
  'archived_at',
  'attempted_at',
  'cancel_turn_id',
  'display_name',
  'ended_at',
  'dismissed_at',
  'expires_at',
  'failure',
  'implementation_started_at',
  'implementation_started_by',
  'implementation_started_session_id',
  'lease_expires_at',
  'lease_holder',
  'lease_token',
  'migration',
  'next_before_revision_number',
  'not_before',
  'parent_task_id',
  'plan_revision_number',
  'plan_title',
  'receipt_id',
  'restored_from',
  'revoked_at',
  'transport',
]);
/** Refused when they are absent, and so asked for by the types. */
const named: Record<string, Set<string>> = {
  plan_edit: new Set(['expected_version', 'old_text', 'new_text']),
  plan_restore: new Set(['expected_version', 'expected_revision_version']),
};
const nullableIn: Record<string, Set<string>> = {
  principal_create: new Set(['task_id', 'session_id']),
  comment_create: new Set(['plan_id']),
  events_read: new Set([
    'id',
    'task_id',
    'kind',
    'plan_id',
    'revision_id',
    'revision_number',
    'coalesced',
    'session_id',
    'message_id',
  ]),
  agent_start: new Set(['agent_token', 'agent_name', 'transport']),
  message_get: new Set(['client_id']),
  receipt_mark_attempted: new Set(['message_id', 'content', 'plan_mode', 'attachment_ids']),
  receipt_reserve: new Set(['lease_token', 'session_id', 'agent_name', 'transport', 'agent_token', 'has_attachments']),
  token_authenticate: new Set(['task_id', 'session_id']),
  token_list: new Set(['task_id']),
  plan_mark_implementation_started: new Set(),
  token_revoke: new Set(),
  task_archive: new Set(),
};

/** src/ledger/generated.ts as the database's catalogue has it. */
export async function generatedTypes(sql: Sql): Promise<string> {
  const functions = await sql<FunctionRow[]>`
    select p.proname as name,
      coalesce(substring(p.prosrc from 'c_operation constant text := ''([a-z_]+)'''), substring(p.prosrc from 'plan_put[(]''([a-z_]+)'''), p.proname) as operation,
      p.provolatile = 'v' as writes,
      (select array_agg(substr(a, 3) order by o) from unnest(p.proargnames[:p.pronargs]) with ordinality u (a, o)) as arguments,
      (select array_agg(format_type(a, null) order by o) from unnest(p.proargtypes::oid[]) with ordinality u (a, o)) as types,
      p.pronargdefaults as optional,
      coalesce(
        (select json_agg(json_build_object('name', p.proargnames[o], 'type', format_type(p.proallargtypes[o], null)) order by o)
          from generate_subscripts(p.proallargtypes, 1) o where p.proargmodes[o] = 't'),
        (select json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, null)) order by a.attnum)
          from pg_attribute a join pg_type t on t.typrelid = a.attrelid where t.oid = p.prorettype and a.attnum > 0),
        '[]') as columns,
      case when t.typtype in ('b', 'd') and p.proallargtypes is null then format_type(p.prorettype, null) end as scalar,
      obj_description(p.oid, 'pg_proc') as comment
    from pg_proc p join pg_type t on t.oid = p.prorettype
    where p.pronamespace = 'planledger'::regnamespace and (p.prosecdef or p.proname in ('error_catalog', 'content_max_bytes', 'attachment_max_bytes'))
    order by p.proname`;
  return [
    '// Written from the database by `npm run snapshot`. Do not edit.',
    '',
    "import type { CallOptions } from './ledger.ts';",
    '',
    ...functions.flatMap(rowType),
    '/** A pending comment of a snapshot. */',
    'export interface PlanComment {',
    '  id: string;',
    '  task_id: string;',
    '  plan_id: string;',
    '  body: string;',
    '  selected_text: string;',
    '  anchor_from: number;',
    '  anchor_to: number;',
    '  version: number;',
    '  created_at: string;',
    '  updated_at: string;',
    '}',
    '',
    '/** A comment as a request names it. */',
    'export interface CommentReference {',
    '  id: string;',
    '  version: number;',
    '}',
    '',
    '/** A file that a prompt carries. */',
    'export interface Attachment {',
    '  id: string;',
    '  name: string;',
    '  media_type: string;',
    '  bytes: number;',
    '}',
    '',
    '/** A prompt that waits in a queue. */',
    'export interface QueueEntry {',
    '  id: string;',
    '  client_queue_id: string;',
    '  content: string;',
    '  comments: CommentReference[];',
    '  plan_mode: boolean;',
    '  author_kind: string;',
    '  author_name: string;',
    '  created_at: string;',
    '  updated_at: string;',
    '}',
    '',
    '/** One method for each function of the schema; its text is the comment on that function. */',
    'export interface Ledger {',
    ...functions.flatMap(method),
    '}',
    '',
    '/** How each method calls its function. */',
    'export const signatures = {',
    ...functions.map(
      (f) =>
        `  ${camel(f.name)}: { function: '${f.name}', operation: '${f.operation}', arguments: ${JSON.stringify(f.arguments ?? [])}, required: ${(f.arguments ?? []).length - f.optional}, writes: ${f.writes}, many: ${many.has(f.name)} },`,
    ),
    '} as const satisfies Record<keyof Ledger, { function: string; operation: string; arguments: readonly string[]; required: number; writes: boolean; many: boolean }>;',
    '',
  ].join('\n');
}

const camel = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
const pascal = (name: string) => camel(`_${name}`);

function rowName(f: FunctionRow): string {
  const has = (column: string) => f.columns.some(({ name }) => name === column);
  if (has('outcome') && has('revision_number')) return 'PlanWriteAck';
  if (has('entries')) return 'Queue';
  if (has('retryable')) return 'Receipt';
  if (has('attachments')) return 'Message';
  if (has('client_id')) return 'Delivery';
  if (has('comments')) return 'CommentSnapshot';
  return has('accepts') ? 'Session' : `${pascal(f.name)}Row`;
}

const rowOf: Record<string, string> = {
  PlanWriteAck: 'every plan write',
  Queue: 'every function of a queue',
  Delivery: 'every function that accepts a prompt',
  Message: 'every function of transcripts',
  Receipt: 'every function that shows receipts',
  Session: 'every function of sessions',
  CommentSnapshot: 'every comment function: all pending comments of a task, in one committed state',
};

const written = new Set<string>();

function rowType(f: FunctionRow, index: number): string[] {
  if (index === 0) written.clear();
  const name = rowName(f);
  if (written.has(name)) return [];
  written.add(name);
  const columns = f.scalar === null ? f.columns : [{ name: f.name, type: f.scalar }];
  const isNull = (column: string) =>
    nullableIn[f.name]?.has(column) || (nullable.has(column) && !(nullableIn[f.name]?.size === 0));
  return [
    `/** A row of ${rowOf[name] ?? `\`${f.name}\``}. */`,
    `export interface ${name} {`,
    ...columns.map(
      (column) =>
        `  ${column.name}: ${tsType(column.type, name !== 'CommentSnapshot' && column.name === 'comments' ? 'Delivery.comments' : column.name)}${isNull(column.name) ? ' | null' : ''};`,
    ),
    '}',
    '',
  ];
}

function method(f: FunctionRow): string[] {
  const names = f.arguments ?? [];
  const list = names.map((name, index) => {
    const optional = index >= names.length - f.optional && !named[f.name]?.has(name);
    const accepts = name === 'principal' || !['text', 'uuid'].includes(f.types[index] ?? '') ? '' : ' | null';
    return `${name}${optional ? '?' : ''}: ${tsType(f.types[index] ?? '', name)}${optional ? ' | null | undefined' : accepts}`;
  });
  const row = rowName(f);
  const result = many.has(f.name) ? `${row}[]` : maybe.has(f.name) ? `${row} | null` : row;
  return [
    `  /** ${f.comment} */`,
    `  ${camel(f.name)}(values: { ${list.join('; ')} }, options?: CallOptions): Promise<${result}>;`,
  ];
}

/** What is in JSON, by the name of its column or argument, and in a delivery. */
const jsonTypes: Record<string, string> = {
  attachments: 'Attachment[]',
  entries: 'QueueEntry[]',
  plan_comment_refs: 'CommentReference[]',
  'Delivery.comments': 'CommentReference[]',
};

function tsType(type: string, name: string): string {
  switch (type) {
    case 'boolean':
      return 'boolean';
    case 'integer':
      return 'number';
    case 'jsonb':
      return jsonTypes[name] ?? 'PlanComment[]';
    case 'bytea':
      return 'Uint8Array';
    case 'text[]':
    case 'uuid[]':
      return 'string[]';
    case 'timestamp with time zone':
      return 'Date';
    default:
      return 'string';
  }
}
