import { beforeAll, describe, expect, test } from 'vitest';
import { type Ledger, signatures } from '../../../src/ledger/generated.ts';
import { createLedger } from '../../../src/ledger/ledger.ts';
import { useDatabase } from '../../support/fixture.ts';
import { expectRefusal } from '../observe.ts';
import { acceptable, type Rule, rules } from './rules.ts';

const db = useDatabase();
type Write = (values: Record<string, unknown>) => Promise<unknown>;

beforeAll(async () => {
  await createLedger(db.admin).settingsChange({ lock_wait: '20 milliseconds' });
});

async function refused(method: keyof Ledger, broken: Rule[], reported: Rule): Promise<void> {
  const request = await acceptable(db, method);
  for (const rule of broken.toReversed()) await rule.break(request, db); // the lock last

  const write = db.ledger[method] as Write;
  try {
    await expectRefusal(db, request.cast.task, () => write(request.arguments), {
      code: reported.code,
      operation: signatures[method].operation,
    });
  } finally {
    await request.release();
  }
}

describe.each(rules)('$method', ({ method, rules: order }) => {
  test('is accepted while no rule is broken', async () => {
    const request = await acceptable(db, method);
    await expect((db.ledger[method] as Write)(request.arguments)).resolves.toMatchObject({ replayed: false });
  });

  test.each(order)('$name alone is reported', async (rule) => {
    await refused(method, [rule], rule);
  });

  const pairs = order.flatMap((earlier, at) =>
    order
      .slice(at + 1)
      .filter((later) => !later.needs.some((need) => earlier.needs.includes(need)))
      .map((later) => ({ first: earlier.name, second: later.name, earlier, later })),
  );
  test.each(pairs)('$first comes before $second', async ({ earlier, later }) => {
    await refused(method, [earlier, later], earlier);
  });
});
