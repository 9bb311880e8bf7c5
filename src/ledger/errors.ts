import postgres from 'postgres';

/** How a stable error code appears elsewhere. */
interface ErrorEntry {
  /** SQLSTATE of the refusal in the database; null for what only a client can see. */
  sqlState: string | null;
  httpStatus: number;
  /** Whether making the same call again is safe and may help. */
  retrySafe: boolean;
}

/**
 * Every stable error code. The texts stand in the database (`planledger.error_catalog()`); the last four codes are
 * for what only a client can see.
 */
export const errorTable = {
  validation_error: { sqlState: 'TP400', httpStatus: 400, retrySafe: false },
  unauthenticated: { sqlState: 'TP401', httpStatus: 401, retrySafe: false },
  task_unreachable: { sqlState: 'TP403', httpStatus: 403, retrySafe: false },
  task_not_found: { sqlState: 'TP404', httpStatus: 404, retrySafe: false },
  plan_not_found: { sqlState: 'TP404', httpStatus: 404, retrySafe: false },
  revision_not_found: { sqlState: 'TP404', httpStatus: 404, retrySafe: false },
  plan_content_required: { sqlState: 'TP400', httpStatus: 400, retrySafe: false },
  plan_edit_text_required: { sqlState: 'TP400', httpStatus: 400, retrySafe: false },
  plan_content_too_large: { sqlState: 'TP413', httpStatus: 413, retrySafe: false },
  plan_version_required: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_version_conflict: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_head_unavailable: { sqlState: 'TP503', httpStatus: 503, retrySafe: true },
  plan_truncation_rejected: { sqlState: 'TP422', httpStatus: 422, retrySafe: false },
  plan_append_truncation_not_applicable: { sqlState: 'TP400', httpStatus: 400, retrySafe: false },
  plan_history_unavailable: { sqlState: 'TP503', httpStatus: 503, retrySafe: true },
  plan_edit_not_found: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_edit_ambiguous: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_revision_version_required: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_revision_changed: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  idempotency_conflict: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  isolation_not_supported: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  comment_body_too_large: { sqlState: 'TP413', httpStatus: 413, retrySafe: false },
  comment_selection_too_large: { sqlState: 'TP413', httpStatus: 413, retrySafe: false },
  comment_limit_exceeded: { sqlState: 'TP413', httpStatus: 413, retrySafe: false },
  comment_id_conflict: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_comments_changed: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  session_not_found: { sqlState: 'TP404', httpStatus: 404, retrySafe: false },
  session_terminal: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  session_not_promptable: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  primary_session_changed: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  prompt_too_large: { sqlState: 'TP413', httpStatus: 413, retrySafe: false },
  queue_full: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  queue_entry_not_found: { sqlState: 'TP404', httpStatus: 404, retrySafe: false },
  queue_changed: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  attachment_not_found: { sqlState: 'TP404', httpStatus: 404, retrySafe: false },
  lease_lost: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  admission_lease_lost: { sqlState: 'TP409', httpStatus: 409, retrySafe: false },
  plan_busy: { sqlState: 'TP503', httpStatus: 503, retrySafe: true },
  turn_start_failed: { sqlState: null, httpStatus: 409, retrySafe: false },
  connection_lost: { sqlState: null, httpStatus: 503, retrySafe: false },
  database_unavailable: { sqlState: null, httpStatus: 503, retrySafe: true },
  internal_error: { sqlState: null, httpStatus: 500, retrySafe: false },
} as const satisfies Record<string, ErrorEntry>;

/** A stable error code. */
export type ErrorCode = keyof typeof errorTable;

/** The one error of this library: what was refused, that nothing was written, and what to do next. */
export class PlanledgerError extends Error {
  override name = 'PlanledgerError';
  readonly code: ErrorCode;
  /** The operation that was called: `append`, `restore`, … */
  readonly operation: string;
  readonly taskId: string | null;
  /** False: nothing was written. `unknown`: the connection went before the answer came; read before doing anything. */
  readonly writeApplied: false | 'unknown';
  readonly nextAction: string;
  /** Counts, versions and the argument concerned, as far as they apply; never text of a plan. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    facts: {
      operation: string;
      taskId?: string | null;
      nextAction: string;
      writeApplied?: false | 'unknown';
      details?: Record<string, unknown>;
      cause?: unknown;
    },
  ) {
    super(message, { cause: facts.cause });
    this.code = code;
    this.operation = facts.operation;
    this.taskId = facts.taskId ?? null;
    this.writeApplied = facts.writeApplied ?? false;
    this.nextAction = facts.nextAction;
    this.details = facts.details ?? {};
  }

  /** Whether making the same call again is safe and may help. */
  get retrySafe(): boolean {
    return errorTable[this.code].retrySafe;
  }

  /** The error as every surface sends it. */
  toJSON(): Record<string, unknown> {
    return {
      ...this.details,
      code: this.code,
      message: this.message,
      task_id: this.taskId,
      operation: this.operation,
      write_applied: this.writeApplied,
      next_action: this.nextAction,
    };
  }
}

/** A refusal of an argument before it reaches the database. */
export function validationError(argument: string, problem: string, operation: string, taskId?: string | null) {
  return new PlanledgerError('validation_error', problem, {
    operation,
    taskId: taskId ?? null,
    nextAction: `Correct ${argument} and call again.`,
    details: { argument },
  });
}

/** How far a failed call got. */
interface CallState {
  /** Whether it had been handed to a connection; what was not sent wrote nothing. */
  sent: boolean;
  /** Whether it may write; one that only reads leaves nothing in doubt. */
  writes: boolean;
}

/** What a failed call means. Whatever is not a refusal of ours keeps its cause and shows nothing of it. */
export function toPlanledgerError(
  error: unknown,
  operation: string,
  taskId: string | null,
  state: CallState = { sent: true, writes: true },
): PlanledgerError {
  if (error instanceof PlanledgerError) return error;
  const facts = { operation, taskId, cause: error };
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const answered = error instanceof postgres.PostgresError && error.severity === 'ERROR';
  if (answered && state.sent) return answer(error, code, facts);
  // What is left is of the connection: it could not be made, or it went before the answer came.
  if (error instanceof postgres.PostgresError || /^(E(?!RR_)[A-Z]|CONNECT)/.test(code)) {
    return state.sent && state.writes ? connectionLost(facts) : databaseUnavailable(facts);
  }
  return internalError(facts);
}

/** Whether a query was cancelled, by its caller or by an administrator. */
export function isCancelled(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '57014';
}

/** What a call that was cancelled before it was sent fails with. */
export function callCancelled(reason: unknown, operation: string, taskId: string | null): PlanledgerError {
  return cancelled({ operation, taskId, cause: reason });
}

interface Facts {
  operation: string;
  taskId: string | null;
  cause: unknown;
}

/** An ERROR of the server: the transaction was rolled back. */
function answer(error: postgres.PostgresError, code: string, facts: Facts): PlanledgerError {
  if (code.startsWith('TP')) return refusal(error, facts);
  switch (code) {
    case '22P02': // invalid text representation, numeric out of range, bad and out-of-range date, time or interval
    case '22003':
    case '22007':
    case '22008':
    case '22015':
      return new PlanledgerError('validation_error', `An argument has the wrong form: ${error.message}.`, {
        ...facts,
        nextAction: 'Correct it and call again.',
      });
    case '55P03': // lock not available, serialization failure, deadlock
    case '40001':
    case '40P01':
      return new PlanledgerError('plan_busy', 'Another call was in the way of this one. Nothing was written.', {
        ...facts,
        nextAction: 'Make the same call again.',
      });
    case '57014':
      return cancelled(facts);
    case '08P01': // PgBouncer: the server connection it used went away
      return connectionLost(facts);
    case '25006': // a standby
      return databaseUnavailable(facts);
    default:
      return internalError(facts);
  }
}

function cancelled(facts: Facts): PlanledgerError {
  return new PlanledgerError('database_unavailable', 'The call was cancelled. Nothing was written.', {
    ...facts,
    nextAction: 'Make the same call again, unless it was cancelled on purpose.',
  });
}

function databaseUnavailable(facts: Facts): PlanledgerError {
  return new PlanledgerError('database_unavailable', 'The database cannot be reached. Nothing was written.', {
    ...facts,
    nextAction: 'Try again later; an administrator finds the cause with `planledger doctor`.',
  });
}

/** What a call fails with of which nobody knows whether it wrote. */
export function connectionLost(
  facts: Facts = { operation: 'request', taskId: null, cause: undefined },
): PlanledgerError {
  return new PlanledgerError(
    'connection_lost',
    'The connection to the database was lost before the answer came; whether the change was written is not known.',
    {
      ...facts,
      writeApplied: 'unknown',
      nextAction:
        'Read the plan before doing anything else. If the change is not there, repeat the same call with the same request_id; without one, never repeat an append unseen.',
    },
  );
}

function internalError(facts: Facts): PlanledgerError {
  return new PlanledgerError('internal_error', 'The call failed inside Planledger. Nothing was written.', {
    ...facts,
    nextAction: 'Tell an administrator, who finds the cause in the log of the server.',
  });
}

function refusal(error: postgres.PostgresError, facts: Facts): PlanledgerError {
  const { code, operation, task_id, write_applied, ...details } = JSON.parse(error.detail ?? '{}') as Record<
    string,
    unknown
  >;
  return new PlanledgerError(code as ErrorCode, error.message, {
    ...facts,
    operation: String(operation),
    taskId: typeof task_id === 'string' ? task_id : null,
    nextAction: error.hint ?? '',
    details,
  });
}
