/**
 * A small model of one task's plan, written from the specification alone: what every call must answer and leave
 * behind. Versions, plan ids and states of a revision are counted numbers here; whoever compares maps them.
 */

import { bytes, characters, compose, isBlank, occurrences, removedCharacters } from './model-text.ts';

const limitBytes = 262_144;

/** Who calls. Two principals of one name are two authors. */
export interface Author {
  id: string;
  kind: 'agent' | 'user';
  name: string;
}

/** A version a caller sends: a counted one, none, or one that never existed. */
export type Expected = number | 'none' | 'unknown';

export type Call = { author: Author; requestId?: string } & (
  | {
      operation: 'create' | 'replace';
      content: string;
      title?: string;
      expected: Expected;
      allow: boolean;
      guarded: boolean;
    }
  | { operation: 'append'; fragment: string; title?: string; expected: Expected; allow: boolean }
  | { operation: 'edit'; old: string; new: string; expected: Expected; allow: boolean }
  | { operation: 'restore'; revision: number; expected: Expected; expectedState: Expected }
  | { operation: 'revert'; revision: number }
  | { operation: 'delete' }
);

interface Revision {
  number: number;
  author: Author;
  title: string;
  content: string;
  restoredFrom: number | null;
  /** Counts up with everything that changes the row. */
  state: number;
  mergeable: boolean;
  removed: number;
  created: number;
  updated: number;
}

export interface Answer {
  outcome: string;
  plan: number;
  version?: number;
  revision?: number;
  title?: string;
  content?: string;
  coalesced?: boolean;
  replayed: boolean;
}

export interface Refused {
  refused: string;
  version: number | null;
  counts: Record<string, number | string>;
}

interface Plan {
  id: number;
  version: number;
  createdBy: Author['kind'];
}

export interface Model {
  plan: Plan | null;
  revisions: Revision[];
  requests: Map<string, { call: string; answer: Answer }>;
  /** Minutes; the database's clock is always a little later. */
  clock: number;
  window: number;
  plans: number;
  versions: number;
}

export function newModel(): Model {
  return { plan: null, revisions: [], requests: new Map(), clock: 0, window: 5, plans: 0, versions: 0 };
}

/** Time passes for the whole history, which changes the times in every revision row. */
export function wait(model: Model, minutes: number): void {
  model.clock += minutes;
  for (const revision of model.revisions) revision.state++;
}

/** Makes a call. */
export function answer(model: Model, call: Call): Answer | Refused {
  const early = refuseText(call);
  if (early !== null) return refuse(model, early);
  const remembered = call.requestId === undefined ? undefined : model.requests.get(call.requestId);
  const fingerprint = JSON.stringify({ ...call, author: call.author.id });
  if (remembered !== undefined) {
    if (remembered.call !== fingerprint) return refuse(model, 'idempotency_conflict');
    return { ...remembered.answer, replayed: true };
  }
  const given = decide(model, call);
  if (!('refused' in given) && call.requestId !== undefined) {
    model.requests.set(call.requestId, { call: fingerprint, answer: given });
  }
  return given;
}

function refuse(model: Model, refused: string, counts: Refused['counts'] = {}): Refused {
  return { refused, version: model.plan?.version ?? null, counts };
}

function refuseText(call: Call): string | null {
  switch (call.operation) {
    case 'create':
    case 'replace':
      if (call.guarded && call.content === '') return 'plan_content_required';
      return bytes(call.content) > limitBytes ? 'plan_content_too_large' : null;
    case 'append':
      if (call.fragment === '') return 'plan_content_required';
      if (isBlank(call.fragment)) return 'validation_error';
      return call.allow ? 'plan_append_truncation_not_applicable' : null;
    case 'edit':
      return call.old === '' ? 'plan_edit_text_required' : null;
    default:
      return null;
  }
}

function decide(model: Model, call: Call): Answer | Refused {
  const latest = model.revisions.at(-1);
  if (model.plan === null || latest === undefined) return decideWithoutPlan(model, call);
  const { plan } = model;
  const source = 'revision' in call ? model.revisions[call.revision - 1] : undefined;
  if ('revision' in call && source === undefined) return refuse(model, 'revision_not_found');
  if ('expected' in call) {
    const required = call.operation === 'append' ? false : !('guarded' in call) || call.guarded;
    if (call.expected === 'none' && required) return refuse(model, 'plan_version_required');
    if (call.expected !== 'none' && call.expected !== plan.version) return refuse(model, 'plan_version_conflict');
  }
  switch (call.operation) {
    case 'delete':
      model.plan = null;
      return { outcome: 'deleted', plan: plan.id, replayed: false };
    case 'append': {
      const content = compose(latest.content, call.fragment);
      if (bytes(content) > limitBytes) {
        return refuse(model, 'plan_content_too_large', { content_bytes: bytes(content), limit_bytes: limitBytes });
      }
      return write(model, call, 'appended', { title: call.title || latest.title, content });
    }
    case 'edit': {
      const found = occurrences(latest.content, call.old);
      if (found === 0) return refuse(model, 'plan_edit_not_found');
      if (found > 1) {
        return refuse(model, 'plan_edit_ambiguous', { occurrences: found > 100 ? 'more than 100' : found });
      }
      const at = latest.content.indexOf(call.old);
      const content = latest.content.slice(0, at) + call.new + latest.content.slice(at + call.old.length);
      if (bytes(content) > limitBytes) {
        return refuse(model, 'plan_content_too_large', { content_bytes: bytes(content), limit_bytes: limitBytes });
      }
      if (content === '') return refuse(model, 'plan_content_required');
      return reduce(model, call, 'edited', latest, { title: latest.title, content }, true);
    }
    case 'restore': {
      if (source === undefined) return refuse(model, 'revision_not_found');
      if (call.expectedState === 'none') return refuse(model, 'plan_revision_version_required');
      if (call.expectedState !== source.state) return refuse(model, 'plan_revision_changed');
      const { title, content } = source;
      if (title === latest.title && content === latest.content) {
        const { number: revision } = latest;
        const outcome = 'already_current';
        const { id, version } = plan;
        return { outcome, plan: id, version, revision, title, content, coalesced: false, replayed: false };
      }
      return write(model, call, 'restored', { title, content }, { restoredFrom: source.number });
    }
    case 'revert': {
      if (source === undefined) return refuse(model, 'revision_not_found');
      const { title, content, number: restoredFrom } = source;
      return write(model, call, 'reverted', { title, content }, { restoredFrom });
    }
    default: {
      const document = { title: call.title || latest.title, content: call.content };
      return reduce(model, call, 'replaced', latest, document, call.guarded);
    }
  }
}

function decideWithoutPlan(model: Model, call: Call): Answer | Refused {
  if (call.operation === 'create') {
    if (call.expected !== 'none') return refuse(model, 'plan_version_conflict');
    return write(model, call, 'created', { title: call.title || 'Plan', content: call.content });
  }
  if (call.operation !== 'revert') return refuse(model, 'plan_not_found');
  const source = model.revisions[call.revision - 1];
  if (source === undefined) return refuse(model, 'revision_not_found');
  const { title, content, number: restoredFrom } = source;
  return write(model, call, 'reverted', { title, content }, { restoredFrom });
}

function reduce(
  model: Model,
  call: Call & { allow: boolean },
  outcome: string,
  latest: Revision,
  document: { title: string; content: string },
  guarded: boolean,
): Answer | Refused {
  const [before, after] = [characters(latest.content), characters(document.content)];
  const acknowledged = before >= 2_000 && after * 2 < before && guarded;
  if (acknowledged && !call.allow) {
    return refuse(model, 'plan_truncation_rejected', { current_chars: before, new_chars: after });
  }
  return write(model, call, outcome, document, { acknowledged });
}

function write(
  model: Model,
  { author }: Call,
  outcome: string,
  { title, content }: { title: string; content: string },
  { restoredFrom = null, acknowledged = false }: { restoredFrom?: number | null; acknowledged?: boolean } = {},
): Answer {
  const latest = model.revisions.at(-1);
  const alone = acknowledged || restoredFrom !== null;
  const removed = latest === undefined ? 0 : removedCharacters(latest.content, content);
  const joins =
    model.plan !== null &&
    latest?.mergeable === true &&
    !alone &&
    latest.author.id === author.id &&
    model.clock - latest.updated < model.window &&
    model.clock - latest.created < 12 * model.window &&
    latest.removed + removed <= 512;
  const { clock } = model;
  if (joins) {
    latest.removed += removed;
    latest.state++;
    Object.assign(latest, { title, content, updated: clock });
  } else {
    const number = model.revisions.length + 1;
    const fresh = { state: 0, mergeable: !alone, removed: 0, created: clock, updated: clock };
    model.revisions.push({ number, author, title, content, restoredFrom, ...fresh });
  }
  model.plan ??= { id: ++model.plans, version: 0, createdBy: author.kind };
  const version = ++model.versions;
  model.plan.version = version;
  const revision = model.revisions.length;
  return { outcome, plan: model.plan.id, version, revision, title, content, coalesced: joins, replayed: false };
}
