import { expect, test } from 'vitest';
import { useDatabase } from '../../support/fixture.ts';
import { expectRefusal } from '../observe.ts';
import { makePlan, read } from '../plans.ts';

const db = useDatabase();

const whiteSpace = [
  ...[0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x20, 0x85, 0xa0, 0x1680],
  ...Array.from({ length: 11 }, (_, n) => 0x2000 + n),
  ...[0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
];
const lookAlikes = [0x08, 0x0e, 0x1c, 0x1f, 0x84, 0x86, 0xad, 0x180e, 0x200b, 0x200c, 0x2060, 0x2800, 0x3164, 0xfeff];
const name = (point: number) => `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;

test.each(whiteSpace.map((point) => ({ point, name: name(point) })))('$name is white space', async ({ point }) => {
  const space = String.fromCodePoint(point);
  const cast = await makePlan(db, `a${space}${space}`);
  const call = { principal: cast.agent, task_id: cast.task };
  await expectRefusal(db, cast.task, () => db.ledger.planAppend({ ...call, fragment: space.repeat(2) }), {
    code: 'validation_error',
    operation: 'append',
  });
  await db.ledger.planAppend({ ...call, fragment: `${space}\n${space}b${space}` });
  expect((await read(db, cast)).content).toBe(point === 0x0a ? 'a\n\nb\n' : `a\n\n${space}b${space}`);
});

test.each(lookAlikes.map((point) => ({ point, name: name(point) })))('$name is not white space', async ({ point }) => {
  const other = String.fromCodePoint(point);
  const cast = await makePlan(db, `a${other}`);
  await db.ledger.planAppend({ principal: cast.agent, task_id: cast.task, fragment: `\n${other}\nb` });
  expect((await read(db, cast)).content).toBe(`a${other}\n\n${other}\nb`);
});
