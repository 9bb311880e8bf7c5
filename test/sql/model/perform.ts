import { expect } from 'vitest';
import type { Ledger, PlanDeleteRow, PlanWriteAck } from '../../../src/ledger/generated.ts';
import type { Call, Expected } from '../../support/model.ts';

/** A run's names for what the model counts. */
export interface Names {
  task: string;
  versions: Map<number, string>;
  plans: Map<number, string>;
  revisions: Map<number, string>;
  /** Digests by revision number and state, `3:1`. */
  digests: Map<string, string>;
}

/** Remembers a name the first time and holds it to the same one afterwards; no two things share one. */
export function same<K>(names: Map<K, string>, key: K, name: string | undefined): void {
  expect(name).toBeTypeOf('string');
  if (!names.has(key)) {
    expect([...names.values()]).not.toContain(name);
    names.set(key, name ?? '');
  }
  expect(name).toBe(names.get(key));
}

const unknown = 'no such version';

/** Makes the model's call in the database. */
export function perform(ledger: Ledger, names: Names, call: Call): Promise<PlanWriteAck | PlanDeleteRow> {
  const version = (expected: Expected) =>
    expected === 'none' ? null : expected === 'unknown' ? unknown : (names.versions.get(expected) ?? unknown);
  const common = { principal: call.author.id, task_id: names.task, request_id: call.requestId };
  switch (call.operation) {
    case 'create':
    case 'replace': {
      const values = {
        ...common,
        content: call.content,
        title: call.title,
        expected_version: version(call.expected),
        allow_truncation: call.allow,
        policy: call.guarded ? 'agent' : 'browser',
      };
      return call.operation === 'create' ? ledger.planCreate(values) : ledger.planReplace(values);
    }
    case 'append':
      return ledger.planAppend({
        ...common,
        fragment: call.fragment,
        title: call.title,
        expected_version: version(call.expected),
        allow_truncation: call.allow,
      });
    case 'edit':
      return ledger.planEdit({
        ...common,
        old_text: call.old,
        new_text: call.new,
        expected_version: version(call.expected),
        allow_truncation: call.allow,
      });
    case 'restore': {
      const state = call.expectedState;
      const digest = typeof state === 'number' ? names.digests.get(`${call.revision}:${state}`) : undefined;
      return ledger.planRestore({
        ...common,
        revision_id: names.revisions.get(call.revision) ?? unknown,
        expected_version: version(call.expected),
        expected_revision_version: state === 'none' ? '' : (digest ?? unknown),
      });
    }
    case 'revert':
      return ledger.planRevert({ ...common, revision_id: names.revisions.get(call.revision) ?? unknown });
    case 'delete':
      return ledger.planDelete(common);
  }
}
