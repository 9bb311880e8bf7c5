import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { validationError } from '../../ledger/errors.ts';
import type { Ledger } from '../../ledger/generated.ts';
import { unstorable } from '../../ledger/ledger.ts';
import type { Caller } from '../caller.ts';

/** One tool as it is listed and called; made by `defineTool`. */
export interface PlanTool {
  /** What `tools/list` shows; `{content_max_bytes}` in its description stands for the limit the database has. */
  listing: Tool;
  /** The right without which the tool is not listed. Whether a call may use it is decided in SQL. */
  scope: 'plan:read' | 'plan:write';
  /** What errors call it before the database has a name for the call. */
  operation: string;
  /** Answers a call, or throws a `PlanledgerError`. */
  call(ledger: Ledger, caller: Caller, given: Record<string, unknown>): Promise<CallToolResult>;
}

/** Who calls and where: the facade and the two arguments that every function takes first. */
interface Target {
  ledger: Ledger;
  principal: string;
  task_id: string;
}

type Shape = Record<string, z.ZodType>;

interface Definition<S extends Shape> extends Pick<PlanTool, 'scope' | 'operation'> {
  name: string;
  title: string;
  description: string;
  annotations: NonNullable<Tool['annotations']>;
  /** Besides `task_id`. What is optional here but `required` below is refused in SQL, at its own step. */
  arguments: S;
  /** The arguments that the advertised schema requires. */
  required: (keyof S & string)[];
  /** Absent where text blocks are the answer: some clients show `structuredContent` instead of them. */
  outputSchema?: NonNullable<Tool['outputSchema']>;
  call(target: Target, values: z.output<z.ZodObject<S>>): Promise<CallToolResult>;
}

const taskId = z
  .string()
  .optional()
  .describe(
    'Id of the task whose plan is meant. May be left out when the access token belongs to an agent session: it is then the task of that session. It never changes who is calling.',
  );

/** A tool whose arguments are checked by us, so that what a client sees is our error and never an SDK's. */
export function defineTool<S extends Shape>(definition: Definition<S>): PlanTool {
  const { name, title, description, annotations, outputSchema, scope, operation } = definition;
  const schema = z.strictObject({ task_id: taskId, ...definition.arguments });
  const { $schema: _, ...inputSchema } = z.toJSONSchema(schema, { io: 'input' });
  return {
    listing: {
      name,
      title,
      description,
      annotations: { title, openWorldHint: false, ...annotations },
      inputSchema: { ...inputSchema, required: definition.required } as Tool['inputSchema'],
      ...(outputSchema === undefined ? {} : { outputSchema }),
    },
    scope,
    operation,
    async call(ledger, caller, given) {
      const task_id = typeof given.task_id === 'string' ? given.task_id : caller.task_id;
      const parsed = schema.safeParse(given);
      if (!parsed.success) {
        const { argument, problem } = describeIssue(parsed.error.issues[0], given, inputSchema.properties, name);
        throw validationError(argument, problem, operation, task_id);
      }
      for (const [argument, value] of Object.entries(given)) {
        const problem = unstorable(value);
        if (problem !== null) throw validationError(argument, `${argument} ${problem}`, operation, task_id);
      }
      if (task_id === null) {
        throw validationError(
          'task_id',
          'task_id is required: this access token does not belong to an agent session whose task could be meant.',
          operation,
        );
      }
      const values = parsed.data as z.output<z.ZodObject<S>>;
      return definition.call({ ledger, principal: caller.principal_id, task_id }, values);
    },
  };
}

type Properties = z.core.JSONSchema.JSONSchema['properties'];

const typeNames: Record<string, string> = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number (of at most 32 bits)',
};

function describeIssue(
  issue: z.core.$ZodIssue | undefined,
  given: Record<string, unknown>,
  properties: Properties,
  tool: string,
): { argument: string; problem: string } {
  if (issue?.code === 'unrecognized_keys') {
    const argument = (issue.keys[0] ?? '').slice(0, 100);
    const known = Object.keys(properties ?? {}).join(', ');
    return { argument, problem: `${argument} is not an argument of ${tool}, which takes ${known}.` };
  }
  const argument = String(issue?.path[0]);
  const property = properties?.[argument];
  const expected = typeof property === 'object' ? typeNames[String(property.type)] : undefined;
  const value = given[argument];
  if (value === undefined) return { argument, problem: `${argument} is required.` };
  const actual = value === null ? 'null' : Array.isArray(value) ? 'an array' : `this ${typeof value}`;
  return { argument, problem: `${argument} must be ${expected}, not ${actual}.` };
}
