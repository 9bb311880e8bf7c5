import fc from 'fast-check';
import type { Author, Call, Expected, Model } from '../../support/model.ts';

/** A step of a run. A command names versions, revisions and stored text relatively, so that it always means something. */
export type Step = Command | { wait: number } | { window: number } | { repeat: number };

export type Command = { author: number; requestId: string | undefined } & (
  | { operation: 'create' | 'replace'; text: Text; title: string; version: Version; allow: boolean; browser: boolean }
  | { operation: 'append'; fragment: string; title: string; version: Version; allow: boolean }
  | { operation: 'edit'; span: Span; replacement: string; version: Version; allow: boolean }
  | { operation: 'restore'; back: number; version: Version; state: Version }
  | { operation: 'revert'; back: number }
  | { operation: 'delete' }
);

type Version = 'current' | 'older' | 'none' | 'unknown';
/** A whole document: new, or the stored one cut and extended. */
type Text = { fresh: string } | { from: number; to: number; added: string };
/** What an edit looks for: a part of the stored text, or some text. */
type Span = { at: number; length: number } | { text: string };

const odd = ['\u0085', '\u00a0', '\u1680', '\u2003', '\u2028', '\u3000', '\u200b', '\ufeff', '\u180e', '\r', '\v'];
const plain = ['a', 'b', '# H', '- [ ] x', 'é', 'è', 'e\u0301', '🚀', '🚁', '$&', '\\1', "'", '%'];
const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...plain) },
  { weight: 4, arbitrary: fc.constantFrom(' ', '\n', '\r\n', '\t', '\n\n', ...odd) },
);
const short = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
const long = fc
  .record({ unit: fc.constantFrom('word ', 'é', '🚀', 'x\n', ' '), times: fc.constantFrom(90, 400, 520, 1_100, 2_100) })
  .map(({ unit, times }) => unit.repeat(times));
const huge = fc.constantFrom('x'.repeat(140_000), '🚀'.repeat(40_000), 'y'.repeat(262_145));
const text = fc.oneof(
  { weight: 30, arbitrary: short },
  { weight: 18, arbitrary: fc.tuple(short, long, short).map((parts) => parts.join('')) },
  { weight: 1, arbitrary: huge },
);

const version = fc.oneof(
  { weight: 12, arbitrary: fc.constant<Version>('current') },
  { weight: 1, arbitrary: fc.constantFrom<Version>('older', 'none', 'unknown') },
);
const flag = (often: number) =>
  fc.oneof({ weight: often, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const title = fc.constantFrom('', '', '', 'One', 'Two 🚀');
const whole: fc.Arbitrary<Text> = fc.oneof(
  fc.record({ fresh: text }),
  fc.record({ from: fc.nat(100), to: fc.nat(100), added: short }),
);
const span: fc.Arbitrary<Span> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ at: fc.nat(99), length: fc.constantFrom(1, 2, 5, 30, 300, 5_000) }) },
  { weight: 1, arbitrary: fc.record({ text: short }) },
);

const common = {
  author: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 2, arbitrary: fc.constantFrom(1, 2, 3) }),
  requestId: fc.oneof(
    { weight: 5, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom('r1', 'r2', 'r3', 'r4') },
  ),
};
const back = fc.oneof({ weight: 5, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(12) });
const put = { text: whole, title, version, allow: flag(2), browser: fc.boolean() };
const command = fc.oneof(
  { weight: 5, arbitrary: fc.record({ ...common, operation: fc.constant('create' as const), ...put }) },
  { weight: 4, arbitrary: fc.record({ ...common, operation: fc.constant('replace' as const), ...put }) },
  {
    weight: 7,
    arbitrary: fc.record({
      ...common,
      operation: fc.constant('append' as const),
      fragment: text,
      title,
      version: fc.constantFrom<Version>('none', 'none', 'current', 'older'),
      allow: flag(12),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      ...common,
      operation: fc.constant('edit' as const),
      span,
      replacement: text,
      version,
      allow: flag(2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...common,
      operation: fc.constant('restore' as const),
      back,
      version,
      state: version,
    }),
  },
  { weight: 2, arbitrary: fc.record({ ...common, operation: fc.constant('revert' as const), back }) },
  { weight: 1, arbitrary: fc.record({ ...common, operation: fc.constant('delete' as const) }) },
);

const step = fc.oneof(
  { weight: 30, arbitrary: command },
  { weight: 2, arbitrary: fc.record({ wait: fc.constantFrom(1, 4, 6, 50) }) },
  { weight: 1, arbitrary: fc.record({ window: fc.constantFrom(0, 5, 5, 60) }) },
  { weight: 2, arbitrary: fc.record({ repeat: fc.nat(40) }) },
) as fc.Arbitrary<Step>;

/** About thirty steps; most runs begin with a plan. */
export const steps: fc.Arbitrary<Step[]> = fc
  .tuple(
    fc.record({ ...common, operation: fc.constant('create' as const), ...put, text: fc.record({ fresh: text }) }),
    fc.array(step, { minLength: 20, maxLength: 40, size: 'max' }),
  )
  .map(([first, others]) => [first, ...others]);

/** What a command means in the present state of the model. */
export function resolve(model: Model, command: Command, authors: readonly Author[]): Call {
  const author = authors[command.operation === 'revert' ? 3 : command.author];
  if (author === undefined) throw new RangeError(`there is no author ${command.author}`);
  const by = { author, ...(command.requestId === undefined ? {} : { requestId: command.requestId }) };
  const stored = model.revisions.at(-1)?.content ?? '';
  const { operation } = command;
  switch (operation) {
    case 'create':
    case 'replace': {
      const { allow } = command;
      const guarded = author.kind === 'agent' || !command.browser;
      const expected = versionOf(model, command.version);
      return {
        ...by,
        operation,
        content: wholeText(stored, command.text),
        ...titled(command),
        expected,
        allow,
        guarded,
      };
    }
    case 'append': {
      const { fragment, allow } = command;
      return { ...by, operation, fragment, ...titled(command), expected: versionOf(model, command.version), allow };
    }
    case 'edit': {
      const { allow, replacement } = command;
      const old = spanText(stored, command.span);
      return { ...by, operation, old, new: replacement, expected: versionOf(model, command.version), allow };
    }
    case 'restore': {
      const revision = model.revisions.length - command.back;
      const now = model.revisions[revision - 1]?.state ?? 0;
      const states = {
        current: now,
        older: now === 0 ? 'unknown' : now - 1,
        none: 'none',
        unknown: 'unknown',
      } as const;
      const expectedState = states[command.state];
      return { ...by, operation, revision, expected: versionOf(model, command.version), expectedState };
    }
    case 'revert':
      return { ...by, operation, revision: model.revisions.length - command.back };
    case 'delete':
      return { ...by, operation };
  }
}

function titled({ title, requestId }: { title: string; requestId: string | undefined }): { title?: string } {
  return title === '' && requestId !== undefined ? {} : { title };
}

function versionOf(model: Model, version: Version): Expected {
  const current = model.plan?.version ?? 'none';
  if (version === 'older') return model.versions > 1 ? model.versions - 1 : 'unknown';
  return version === 'current' ? current : version;
}

/** Cuts between whole characters. */
function cut(stored: string, from: number, to: number): string {
  const all = [...stored];
  return all.slice(Math.floor(from), Math.floor(to)).join('');
}

function wholeText(stored: string, text: Text): string {
  if ('fresh' in text) return text.fresh;
  const length = [...stored].length;
  return cut(stored, 0, (length * text.from) / 100) + text.added + cut(stored, (length * text.to) / 100, length);
}

function spanText(stored: string, span: Span): string {
  if ('text' in span) return span.text;
  const from = ([...stored].length * span.at) / 100;
  return cut(stored, from, Math.floor(from) + span.length);
}
